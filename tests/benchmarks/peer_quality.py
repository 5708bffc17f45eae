"""Run by a peer environment's Python (sdmetrics 0.32): the scores of its quality report, and of each column and pair.

Standard input: ``{"tables": [{"original": CSV, "released": CSV, "columns": {name: sdtype}}]}``; the same order leaves.
"""

import json
import sys
import warnings

import pandas as pd
from sdmetrics.reports.single_table import QualityReport


def main() -> None:
    warnings.simplefilter("ignore")
    out = []
    for table in json.load(sys.stdin)["tables"]:
        columns = table["columns"]
        dtypes = {name: str for name, kind in columns.items() if kind != "numerical"}
        sides = [pd.read_csv(table[side], dtype=dtypes)[list(columns)] for side in ("original", "released")]
        formats = {"datetime": {"datetime_format": "%Y-%m-%d"}}
        metadata = {"columns": {name: {"sdtype": kind, **formats.get(kind, {})} for name, kind in columns.items()}}
        report = QualityReport()
        report.generate(*sides, metadata, verbose=False)
        shapes, pairs = (report.get_details(name) for name in ("Column Shapes", "Column Pair Trends"))
        whole = QualityReport()
        whole.real_correlation_threshold = whole.real_association_threshold = 0
        whole.generate(*sides, metadata, verbose=False)
        every = whole.get_details("Column Pair Trends")
        properties = dict(report.get_properties().to_numpy().tolist())
        out.append(
            {
                "overall": report.get_score(),
                "column_shapes": properties["Column Shapes"],
                "pair_trends": properties["Column Pair Trends"],
                "columns": dict(zip(shapes["Column"], shapes["Score"], strict=True)),
                "pairs": [list(row) for row in every[["Column 1", "Column 2", "Metric", "Score"]].to_numpy().tolist()],
                "all_pairs": dict(whole.get_properties().to_numpy().tolist())["Column Pair Trends"],
                "strong": int(pairs["Meets Threshold?"].fillna(False).sum()),
            }
        )
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
