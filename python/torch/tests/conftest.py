"""Everything is taken, however small, in all tests of this folder."""
import pytest


@pytest.fixture(autouse=True)
def on():
    import restride.torch  # where it is missing the test's own import has said so

    with restride.torch.enabled(min_bytes=0):
        restride.torch.stats(reset=True)
        yield
