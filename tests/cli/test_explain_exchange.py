"""restride explain of two distributions."""
import pytest

ROWS = "(8192,512) as (block[0],*) over (4)"
COLUMNS = "(8192,512) as (*,block[0]) over (4)"


def test_explain_says_what_moves_between_ranks(restride):
    text = restride("explain", f"f32 {ROWS} -> {COLUMNS}").out
    assert "12582912 bytes between ranks, the minimum" in text and "sends to" not in text
    report = restride("explain", f"f32 {ROWS} -> bf16 {COLUMNS}", "--json", "--rank", "1").json()
    assert report["moved_bytes"] == report["minimum_bytes"] == 12582912 // 2
    assert report["dst"] == f"bf16 {COLUMNS}"
    assert [p["to"] for p in report["sends"]] == [0, 1, 2, 3] == [p["from"] for p in report["receives"]]
    assert report["exchange"]["src"] == ROWS


def test_explain_takes_thousands_of_virtual_ranks(restride):
    report = restride("explain", "f32 (65536,65536) as (block[0],block[1]) over (64,64) -> "
                      "(65536,65536) as (cyclic:64[0],cyclic:64[1]) over (64,64):(1,64)", "--json").json()
    assert report["ranks"] == 4096 and report["moved_bytes"] == report["minimum_bytes"] > 0


def test_explain_takes_boxes_and_lists_a_ranks_messages(restride):
    text = restride("explain", "u8 (9,9) boxes 0[0:5,0:9] 1[5:9,0:9] -> (9,9) as (block[0],*) over (3)", "--rank", "2").out
    assert "sends to   nothing" in text and "gets from       1" in text


@pytest.mark.parametrize("what, code, words", [
    (f"f32 {ROWS} -> (8192,512) as (blok[0],*) over (4)", 2, "column 16"),
    (f"{ROWS} -> {COLUMNS}", 2, "the dtype is missing"),
    (f"f32 {ROWS}", 2, "one distribution; write '-> ...' behind it"),
    (f"f33 {ROWS} -> {COLUMNS}", 2, "'f33' is no dtype"),
    (f"f32 {ROWS} -> (8192,513) as (*,block[0]) over (4)", 1, "axis 1 has extent 512 in src and 513 in dst"),
    ("f32 (8,8) boxes 0[0:4,0:8] -> (8,8) as (*,*) over (1)", 1, "needs index (4,0)"),
    (f"c64 {ROWS} -> f32 {COLUMNS}", 1, "no conversion from c64 to f32"),
])
def test_explain_says_what_is_wrong_with_distributions(restride, what, code, words):
    assert words in restride("explain", what, code=code).err


def test_options_of_a_copy_do_not_go_with_distributions(restride):
    assert "only --rank and --json" in restride("explain", f"f32 {ROWS} -> {COLUMNS}", "--axes", "1,0", code=2).err
    assert "only --rank and --json" in restride("explain", f"f32 {ROWS} -> {COLUMNS}", "--threads", "2", code=2).err
    assert "two distributions" in restride("explain", "f32 (4,4) -> (1,0)", "--link-gbps", "9", code=2).err
    assert "positive" in restride("explain", f"f32 {ROWS} -> {COLUMNS}", "--link-gbps", "0", code=2).err
    assert "ranks 0 to 3" in restride("explain", f"f32 {ROWS} -> {COLUMNS}", "--rank", "4", code=2).err
    assert "two distributions" in restride("explain", "f32 (4,4) -> (1,0)", "--rank", "1", code=2).err
