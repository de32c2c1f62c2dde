# SPDX-License-Identifier: ISC
"""What is made of the samples: tables of 80 columns, the JSON document, a plot, and a comparison of two documents."""

import statistics
import textwrap
from xml.sax.saxutils import escape

import targets

WIDTH = 80
NAME = 44       # of a ratio


def number(value):
    """Three digits or so, in no more than six characters."""
    if value is None:
        return "-"
    for least, unit, letter in ((9.5e9, 1e9, "G"), (9.5e6, 1e6, "M"), (99500, 1e3, "k")):
        if value >= least:
            return f"{value / unit:,.0f}{letter}"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def wrapped(text):
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def flat(settings):
    return ", ".join(f"{name} {{{flat(value)}}}" if isinstance(value, dict) else f"{name}={value}"
                     for name, value in settings.items())


def heading(machine):
    lines = [f"{machine['date']}, {machine['host']}: {machine['processors']} × {machine['processor']},"
             f" {machine['system']}, load {machine['load']}",
             f"A page written and synced: {number(machine['fsync_ms'])} ms ({machine['disk']}); fsync is on.",
             f"Servers {'tuned' if machine['tuned'] else 'NOT tuned'}"
             f"{', databases with a processor for themselves' if machine.get('apart') else ''}."
             f" PostgreSQL: {flat(machine['postgresql'])}."
             f" Dovecot: {flat(machine['dovecot'])}."]
    return "\n".join(map(wrapped, lines))


def summary(row):
    """Median, least, most, and both quartiles."""
    samples = sorted(row["samples"])
    quartiles = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return {"unit": row["unit"], "larger": row["larger"], "n": len(samples), "median": statistics.median(samples),
            "min": samples[0], "max": samples[-1], "q1": quartiles[0], "q3": quartiles[2]}


def table(results, part, seconds):
    lines = ["", f"{part + f'  ({seconds:.0f} s)':38} {'median':>8} {'quartiles':>15} {'min':>7} {'max':>7}"]
    case = None
    mine = [(its_case, competitor, row) for (its_part, its_case, competitor), row in results.rows.items()
            if its_part == part]
    cases = list(dict.fromkeys(its_case for its_case, _, _ in mine))
    for its_case, competitor, row in sorted(mine, key=lambda one: cases.index(one[0])):
        if its_case != case:
            case = its_case
            lines.append(f"  {case}, {row['unit']}, n = {len(row['samples'])}")
        one = summary(row)
        quartiles = f"{number(one['q1'])} - {number(one['q3'])}"
        lines.append(f"    {competitor[:34]:34} {number(one['median']):>8} {quartiles:>15} {number(one['min']):>7}"
                     f" {number(one['max']):>7}")
    lines += [wrapped(f"  {note}") for note in results.notes]
    results.notes.clear()
    return "\n".join(lines)


def document(results, machine):
    """What bench.json contains."""
    rows = [{"part": part, "case": case, "competitor": competitor, **summary(row), "samples": row["samples"]}
            for (part, case, competitor), row in results.rows.items()]
    return {"machine": machine, "rows": rows}


def medians(doc):
    return {(row["part"], row["case"], row["competitor"]): row["median"] for row in doc["rows"]}


def verdict(target, met):
    if met is None:
        return ""
    limit = f"≤ {target.most:g}" if target.most is not None else f"≥ {target.least:g}"
    return f"{limit:>7} {'met' if met else 'NOT met'}"


def ratios(doc):
    """The table of targets, for each program that was measured."""
    lines = []
    for program in ("oncedrop", "embedded", "mariadb", "other"):
        rows = []
        for target, ratio, spread, met in targets.found(doc["rows"], program):
            quartiles = f"{number(spread[0])} - {number(spread[1])}" if spread else ""
            name = target.name if len(target.name) <= NAME else f"{target.name}\n  {'':{NAME}}"     # has its own line
            rows.append(f"  {name:{NAME}} {number(ratio):>5} {quartiles:>11} {verdict(target, met)}".rstrip())
        if rows:
            lines += ["", f"{'Ratios: ' + program:46} {'':>5} {'quartiles':>11} {'target':>7}", *rows]
    return "\n".join(lines)


def comparison(old, new):
    """Two documents, row by row and target by target. They come from two runs, perhaps from two machines: rows compare
    worse than ratios, since these were taken from one run each."""
    lines = [wrapped(f"{name}: {doc['machine']['date']}, {doc['machine']['host']}, {doc['machine']['processor']},"
                     f" fsync {number(doc['machine']['fsync_ms'])} ms, {'' if doc['machine']['tuned'] else 'un'}tuned")
             for name, doc in (("old", old), ("new", new))]
    before, after = medians(old), medians(new)
    lines += ["", f"{'Medians':52} {'old':>8} {'new':>8} {'new ÷ old':>9}"]
    for row in new["rows"]:
        key = (row["part"], row["case"], row["competitor"])
        if key in before:
            change = after[key] / before[key] if before[key] else None
            name = f"{': '.join(key)}, {row['unit']}"
            lines.append(f"{name[:52]:52} {number(before[key]):>8} {number(after[key]):>8} {number(change):>9}")
    was = {target.name: ratio for target, ratio, _, _ in targets.found(old["rows"], "oncedrop")}
    lines += ["", f"{'Ratios':50} {'old':>6} {'new':>6}  {'target':>7}"]
    for target, ratio, _, met in targets.found(new["rows"], "oncedrop"):
        lines.append(f"{target.name:50} {number(was.get(target.name)):>6} {number(ratio):>6} {verdict(target, met)}")
    return "\n".join(line.rstrip() for line in lines)


# The plot: a bar for each row, from 0 to its median, with a line from the first to the third quartile.

BAR, LEFT, RIGHT, WIDE = 16, 230, 90, 480
COLOURS = {"oncedrop": "#2266aa", "embedded": "#226644", "mariadb": "#aa6622", "other": "#88aacc"}


def colour(competitor):
    return next((value for name, value in COLOURS.items() if name in competitor), "#aaaaaa")


def plot(doc):
    shapes, y = [], 10
    machine = doc["machine"]

    def text(x, words, **more):
        extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        shapes.append(f'<text x="{x:.0f}" y="{y + 12}"{extra}>{escape(words)}</text>')

    text(10, f"oncedrop, {machine['date']}: {machine['processors']} × {machine['processor']}, {machine['system']}")
    y += 2 * BAR
    groups = {}
    for row in doc["rows"]:
        if row["competitor"] != "the client alone":      # so much faster that nothing could be seen of the others
            groups.setdefault((row["part"], row["case"], row["unit"], row["larger"]), []).append(row)
    for (part, case, unit, larger), rows in groups.items():
        text(10, f"{part}: {case}, {unit} ({'more' if larger else 'less'} is better)", font_weight="bold")
        y += BAR + 2
        scale = WIDE / (max(row["q3"] for row in rows) or 1)
        for row in rows:
            text(LEFT - 6, row["competitor"], text_anchor="end")
            shapes.append(f'<rect x="{LEFT}" y="{y + 2}" width="{row["median"] * scale:.1f}" height="{BAR - 4}"'
                          f' fill="{colour(row["competitor"])}"/>')
            shapes.append(f'<path d="M{LEFT + row["q1"] * scale:.1f} {y + BAR / 2}H{LEFT + row["q3"] * scale:.1f}"'
                          ' stroke="black"/>')
            text(LEFT + max(row["median"], row["q3"]) * scale + 6, number(row["median"]))
            y += BAR
        y += BAR // 2
    wide = LEFT + WIDE + RIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{y + 10}" font-family="sans-serif"'
            f' font-size="11"><rect width="{wide}" height="{y + 10}" fill="white"/>\n'
            + "\n".join(shapes) + "\n</svg>\n")
