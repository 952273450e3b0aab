// page: the frame of HTML pages that stand alone: head, style sheet, cards and facts.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/svg.hpp>
#include <gsub/report/units.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace gsub::report::detail {

// `−12.3 %`
GSUB_LAZY std::string change(double before, double after) {
    if (!(before > 0)) return "";
    auto const share = (after - before) / before;
    return format_text("{}{}", share < 0 ? "\xe2\x88\x92" : share > 0 ? "+" : "", percent(std::abs(share)));
}

GSUB_LAZY std::string figure_card(std::string_view label, std::string const& value, std::string const& detail,
                                  std::string_view kind = "") {
    return format_text("<div class=\"card {}\"><div class=\"label\">{}</div><div class=\"value\">{}</div><div "
                       "class=\"detail\">{}</div></div>\n",
                       kind, label, xml_text(value), xml_text(detail));
}

GSUB_LAZY std::string_view page_style() {
    return R"(
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){.gsub.page{color-scheme:dark}}
main{max-width:1320px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:27px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em;overflow-wrap:anywhere}h2{font-size:18px;margin:34px 0 12px}
.soft{color:var(--soft)}.good{color:var(--good)}.bad,.up{color:var(--bad)}.down{color:var(--good)}
.cards{display:grid;grid-template-columns:2fr 1fr 1fr 1.2fr;gap:14px;margin:22px 0}
.card,figure,.box{background:var(--card);border:1px solid var(--rim);border-radius:12px}
.card{padding:14px 18px}.card .label{color:var(--soft);font-size:12px;letter-spacing:.06em;text-transform:uppercase}
.cards.many{display:flex;flex-wrap:wrap}.cards.many .card{flex:1 1 130px}.cards.many .pair{flex:1.4 1 244px}.cards.many .main{flex:2 1 330px}
.card .value{font-size:21px;font-weight:650;font-variant-numeric:tabular-nums}.card.main .value{font-size:29px;line-height:1.35}
.card .detail{color:var(--soft);font-size:13px}.card.main .detail{color:var(--good);font-size:15px;font-weight:600}
.cards.many .card:not(.main) .value{font-size:19px}.card.main.even .detail{color:var(--soft)}.card.main.bad .detail{color:var(--bad)}
.card.good .value{color:var(--good)}.card.bad .value{color:var(--bad)}
.two{display:grid;grid-template-columns:1fr 1fr;gap:14px}.two>*{min-width:0}
.box{padding:14px 16px}.box h3{margin:0 0 6px;font-size:14px}
.strips{display:grid;grid-template-columns:max-content 1fr max-content;gap:8px 12px;align-items:center}
.strip{width:100%;height:30px;background:none!important}.strip .f{stroke:var(--card)!important;stroke-width:1!important;vector-effect:non-scaling-stroke}
.strip .sum .f{fill:var(--sum-e)}.strip .red .f{fill:var(--red-e)}.strip .mov .f{fill:var(--mov-e)}.strip .elt .f{fill:var(--elt-e)}.strip .opq .f{fill:var(--opq-e)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1px solid var(--rim);padding:6px 10px;white-space:nowrap}
td{border-bottom:1px solid var(--rim);padding:6px 10px;vertical-align:top}tr:last-child td{border-bottom:0}
.tight td,.tight th{padding:6px 7px}.bar{width:56px;height:9px;margin-right:8px;background:none!important}.bar .o{fill:var(--rim)}.bar .i{fill:var(--good)}.bar .x{fill:var(--soft)}
summary{cursor:pointer;white-space:nowrap}details code{display:block;max-width:300px}
.schedule{min-width:205px}.ratio{white-space:nowrap;font-variant-numeric:tabular-nums}
td code{overflow-wrap:anywhere}.num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
code{font:12px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
dl{margin:0;display:grid;grid-template-columns:1fr 1fr;gap:0 28px;font-size:14px}
dl div{display:flex;gap:12px;padding:5px 0;border-bottom:1px solid var(--rim)}dt{color:var(--soft);flex:0 0 34%}dd{margin:0;overflow-wrap:anywhere}
figure{margin:0;overflow:hidden}figcaption{padding:10px 16px;border-bottom:1px solid var(--rim);color:var(--soft)}figcaption strong{color:var(--ink)}
.pane{overflow:auto;max-height:86vh;padding:10px;background:var(--paper)}.pane svg{display:block;margin:0 auto}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:0 0 12px;color:var(--soft);font-size:13px}
.legend svg{width:18px;height:13px;vertical-align:-2px;margin-right:6px;background:none}
footer{margin-top:34px;color:var(--soft);font-size:13px}
@media (max-width:900px){.cards,.two,dl{grid-template-columns:1fr}}
@media print{.pane{max-height:none;overflow:visible}body{background:#fff}}
)";
}

// Everything of a page before its first part. Both texts may come from strangers.
GSUB_LAZY std::string page_head(std::string_view title, std::string_view subtitle) {
    return format_text(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\" class=\"gsub "
        "page\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{} \xe2\x80\x93 "
        "gsub</title>\n<style>{}{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<div "
        "class=\"soft\">{}</div>\n",
        xml_text(title, 200), picture_style(), chart_style(), page_style(), xml_text(title, 200), xml_text(subtitle));
}
// Everything after its last part.
GSUB_LAZY std::string page_foot() {
    return format_text("<footer>Made by gsub {}.{}.{}. This page needs no network and no script.</footer>\n</main>\n"
                       "</body>\n</html>\n",
                       GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH);
}

// A line of a list of facts.
GSUB_LAZY std::string fact_line(std::string_view name, std::string const& value) {
    return format_text("<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(name), xml_text(value, 2000));
}

} // namespace gsub::report::detail
