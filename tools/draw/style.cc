#include "tools/draw/style.h"

#include <fmt/format.h>

namespace restride::draw {
namespace {

constexpr int kLanes = 32;

constexpr std::string_view kDrawing = R"css(
.drawing{--paper:#fff;--ink:#1b1f24;--faint:#59636e;--rule:#8c959f;--thin:#d1d9e0;--mark:#b3261e;--accent:#0b57d0;
font-family:ui-sans-serif,system-ui,"Segoe UI",Helvetica,Arial,sans-serif}
@media (prefers-color-scheme:dark){.drawing{--paper:#14171c;--ink:#e6e9ee;--faint:#a3acb8;--rule:#7d8794;--thin:#3a424d;
--mark:#ff8a80;--accent:#8ab4f8}}
.drawing .paper{fill:var(--paper)}
.drawing text{fill:var(--ink);font-size:11px}
.drawing .head{font-size:14px;font-weight:600}
.drawing .note{fill:var(--faint)}
.drawing .tiny{font-size:8.5px}
.drawing .code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.drawing .on{fill:#111}
.drawing .end{text-anchor:end}
.drawing .mid{text-anchor:middle}
.drawing .sector{fill:none;stroke:var(--rule);stroke-width:.7}
.drawing .line{fill:none;stroke:var(--faint);stroke-width:1.2}
.drawing .empty{fill:none;stroke:var(--thin);stroke-dasharray:2 2;stroke-width:.7}
.drawing .unused{stroke:var(--rule);stroke-width:.8;fill:none}
.drawing .cell{stroke:#111;stroke-opacity:.35;stroke-width:.5}
.drawing .first{stroke:#111;stroke-opacity:1;stroke-width:1.2}
.drawing .pale{fill-opacity:.3}
.drawing .free{fill:none;stroke:var(--thin);stroke-width:.5}
.drawing .clash{fill:none;stroke:var(--mark);stroke-width:2}
.drawing .way{fill:none;stroke:var(--accent);stroke-width:1.4}
.drawing .dot{fill:var(--accent)}
.drawing .tile{fill:var(--accent);fill-opacity:.12;stroke:var(--accent);stroke-width:.9}
.drawing .here{fill:var(--accent);fill-opacity:.45;stroke:var(--ink);stroke-width:1.4}
.drawing .whole{fill:none;stroke:var(--rule);stroke-width:1}
.drawing .out{fill:var(--thin);stroke:none}
.drawing .warn{fill:var(--mark);font-weight:600}
)css";

constexpr std::string_view kPage = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--bar:#0b57d0;
--bar2:#7a3e9d;--bar3:#8a5a00;--link:#0b57d0}
@media (prefers-color-scheme:dark){:root{--bg:#14171c;--fg:#e6e9ee;--soft:#a3acb8;--line:#3a424d;--card:#1c2128;
--bar:#8ab4f8;--bar2:#d7aefb;--bar3:#fdd663;--link:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 ui-sans-serif,system-ui,"Segoe UI",Helvetica,Arial,
sans-serif}
main,header,footer{max-width:76rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 .6rem}
h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.7rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .3rem}
p,li{max-width:46rem}
a{color:var(--link)}
code,pre,.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}
pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.7rem}
.soft,figcaption{color:var(--soft)}
figure{margin:1rem 0;overflow-x:auto}
figure:focus-visible,pre:focus-visible,.scroll:focus-visible{outline:2px solid var(--link)}
figcaption{max-width:46rem;font-size:.92rem;position:sticky;left:0}
svg.drawing{display:block;max-width:none;height:auto}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(11rem,100%/2 - .3rem),1fr));gap:.6rem;margin:1rem 0;padding:0}
.facts div{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem}
.facts dt{color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
.facts dd{margin:0;font-size:1.15rem;font-weight:600;overflow-wrap:anywhere}
.scroll{overflow-x:auto;position:relative}
main>figure,.scroll{background:linear-gradient(90deg,var(--bg) 1rem,transparent) 0/2.5rem 100% no-repeat local,
linear-gradient(270deg,var(--bg) 1rem,transparent) 100%/2.5rem 100% no-repeat local,
linear-gradient(90deg,var(--line),transparent) 0/.7rem 100% no-repeat,
linear-gradient(270deg,var(--line),transparent) 100%/.7rem 100% no-repeat}
table{border-collapse:collapse;font-size:.94rem}
th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.bar{display:flex;height:1rem;min-width:10rem;background:var(--card);border:1px solid var(--line)}
.bar span{display:block;height:100%}
.b1{background:var(--bar)}
.b2{background:repeating-linear-gradient(45deg,var(--bar2) 0 4px,transparent 4px 6px)}
.b3{background:repeating-linear-gradient(90deg,var(--bar3) 0 2px,transparent 2px 5px)}
.key span{display:inline-block;width:1.6rem;height:.8rem;margin:0 .1rem 0 0;border:1px solid var(--line);
vertical-align:middle}
td{min-width:4.5rem}
th .code{max-width:22rem;overflow-wrap:anywhere;font-weight:400}
td.w{min-width:14rem}
.hover{display:none;position:fixed;right:1rem;bottom:1rem;z-index:1;max-width:calc(100vw - 2rem);overflow:hidden;
padding:.6rem .8rem;white-space:pre-wrap;font:400 .8rem/1.35 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
background:var(--card);border:1px solid var(--line);border-radius:6px;box-shadow:0 2px 12px #0006;pointer-events:none}
tr:hover .hover{display:block}
.steps{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:1rem}
.steps figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.7rem}
.bad{font-weight:700}
footer{margin-top:2.5rem;padding-bottom:2rem;color:var(--soft);font-size:.9rem}
@media (max-width:40rem){h1{font-size:1.3rem}th,td{padding-right:.6rem}
tbody th{min-width:8.5rem;max-width:8.5rem;overflow-wrap:anywhere}
tbody th:has(>code){min-width:0;overflow-wrap:normal}.steps{grid-template-columns:1fr}
.stack,.stack tbody{display:block}.stack thead{position:absolute;clip-path:inset(50%)}
.stack tr{display:flex;flex-wrap:wrap;column-gap:.9rem;padding:.4rem 0;border-bottom:1px solid var(--line)}
.stack tbody th,.stack td{display:block;min-width:0;max-width:100%;padding:0;border:0;overflow-wrap:anywhere}
.stack tbody th,.stack td:has(>.bar),.stack td.w{flex:1 0 100%}.stack .bar{min-width:0}
.stack td[data-label]::before{content:attr(data-label) " ";color:var(--soft)}}
@media print{.hover{display:none!important}figure,.scroll{overflow:visible}svg.drawing{max-width:100%}h2{break-after:avoid}
figure,tr{break-inside:avoid}}
)css";

}  // namespace

std::string_view drawing_style() {
  static const std::string style = [] {
    std::string out(kDrawing);
    // Hues go round by 11 of 32, so that neighbours differ; lightness alternates, for those who see few hues.
    for (int lane = 0; lane < kLanes; ++lane)
      out += fmt::format(".drawing .l{}{{fill:hsl({} {}% {}%)}}\n", lane, lane * 11 % kLanes * 360 / kLanes,
                         lane % 2 == 0 ? 62 : 50, lane % 2 == 0 ? 75 : 86);
    return out;
  }();
  return style;
}

std::string page_style() {
  static const std::string style = [] {
    std::string out = std::string(kPage) + std::string(drawing_style());
    // Pointing at a box leaves in colour what belongs to the same thread or run, in every drawing of the page.
    for (int lane = 0; lane < kLanes; ++lane)
      out += fmt::format("main:has(.l{0}:hover) .cell:not(.l{0}){{fill-opacity:.15}}\n", lane);
    return out;
  }();
  return style;
}

std::string lane_class(int number) { return fmt::format("l{}", number < 0 ? 0 : number % kLanes); }

}  // namespace restride::draw
