"""Sample-and-aggregate: forests or XGBoost on disjoint blocks of rows, combined by a private median."""
