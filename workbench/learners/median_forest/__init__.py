"""Sample-and-aggregate: forests or XGBoost on disjoint blocks of rows, answered by a private median."""
