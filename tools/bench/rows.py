"""Rows of the benchmark table: each program of this folder appends its own with --rows FILE, and `all` makes one table of them.

A row is what was measured (`value`, in `unit`), the same of a peer where there is one, and the ratio, which is above 1 where we are better.
"""
import csv
import os

COLUMNS = ["benchmark", "case", "value", "unit", "peer", "peer_value", "ratio"]


def add_option(parser):
    parser.add_argument("--rows", metavar="FILE", help="appends what was measured to this CSV (tools/bench/all reads it)")


def short(value):
    """Three significant digits, as a table shows them; "" for None."""
    if value is None or value == "":
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class Rows:
    """Does nothing without a file."""

    def __init__(self, benchmark, file):
        self.benchmark, self.file = benchmark, file

    def add(self, case, value, unit, peer="", peer_value=None, ratio=None):
        if not self.file:
            return
        new = not os.path.exists(self.file) or os.path.getsize(self.file) == 0
        with open(self.file, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(COLUMNS)
            row = [self.benchmark, case, value, unit, peer, "" if peer_value is None else peer_value, "" if ratio is None else ratio]
            writer.writerow([repr(cell) if isinstance(cell, float) else cell for cell in row])


def read(file):
    """The rows of such a file as dictionaries; numbers are numbers, or "" where there is none."""
    if not os.path.exists(file):
        return []
    with open(file, newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    for row in rows:
        for column in ("value", "peer_value", "ratio"):
            row[column] = float(row[column]) if row[column] else ""
    return rows
