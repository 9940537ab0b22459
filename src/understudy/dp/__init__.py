"""BOUNDARY: what must be right for a stated guarantee to hold, and where it is shown.

A release rests on `dp/gate.py` with what that imports, on the rest of `dp/`, on `data/`, and on
those mechanisms that its ledger names (`dp/gate.py`). Nothing else. Files are those of the
package, tests those below `tests/`.

TRUSTED BASE

claim: a charge comes before every look at the rows
    proof: dp/gate.py
    test: contract/test_ledger.py
claim: nobody but the gate releases, hands out rows, or is told which mechanisms there are
    proof: dp/gate.py
    test: boundary/test_house.py boundary/test_named_types.py
claim: a mechanism is its public fields, made again, and nothing of a method's own
    proof: dp/admission.py dp/mechanism.py
    test: attacks/test_gate.py
claim: a price follows from public facts; a schema that somebody altered never meets the rows
    proof: dp/confidential.py
    test: attacks/test_gate.py attacks/test_numbers.py dp/test_views.py
claim: costs add up under adaptive composition, whichever thread or process asks
    proof: dp/accountant.py dp/gaussian_dp.py dp/randomness.py
    test: attacks/test_ledger.py dp/accounting/test_gaussian_dp.py lemmas/test_discrete_gaussian.py
        lemmas/test_choice_with_rest.py lemmas/test_bounded_range.py
claim: a run that ended is booked at what it cost, whatever rest its choices were priced with
    proof: dp/accountant.py dp/gaussian_dp.py
    test: dp/accounting/test_run_cost.py ledger/test_run_costs.py
claim: ε and δ follow from what the ledger sums
    proof: dp/budget.py dp/gaussian_dp.py
    test: dp/accounting/test_budget.py dp/accounting/test_gdp_accounting.py
claim: a release promises no more than what its mechanisms said
    proof: dp/guarantee.py
    test: dp/test_gate.py attacks/test_draft.py
claim: bits are unpredictable, and never given twice
    proof: dp/randomness.py
    test: dp/noise/test_randomness.py
claim: draws follow the stated distribution exactly
    proof: dp/sampling.py dp/distributions.py
    test: dp/noise/test_rejection_sampling.py dp/noise/test_inversion_sampling.py
        dp/noise/test_distributions.py
claim: a record moves a table by 1 in one cell, or in two if it is replaced
    proof: dp/calibration.py
    test: dp/test_sensitivity.py
claim: noise that is kept inside bounds, or put on a lattice, is calibrated for that
    proof: dp/truncated_laplace.py mechanisms/sums.py dp/perturbation.py
    test: dp/noise/test_truncated_laplace.py dp/noise/test_lattice_rounding.py
        lemmas/test_truncation.py
claim: rows become states record by record, once a reader gives each cell by itself
    proof: data/coding.py
    test: oracles/test_counting.py contract/test_reading.py

READERS: rows become states record by record, each with what it rests on beside this package

claim: CSV and TSV: lines are split by our own kernels; this rests on the library that unpacks
    a packed file
    proof: data/csv.py
    test: contract/test_one_odd_cell.py attacks/test_text_files.py
claim: JSON lines: each line by itself; this rests on Python's decoder, of one line
    proof: data/jsonl.py
    test: contract/test_one_odd_cell.py contract/test_reading.py data/reading/test_json_lines.py
claim: Arrow files and tables: by the types in their heading; this rests on PyArrow giving each
    value of a type as it is written
    proof: data/parquet.py data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Parquet: each file by its own types; this rests on PyArrow and Polars decoding each value
    by itself
    proof: data/parquet.py data/frames.py
    test: contract/test_one_odd_cell.py data/reading/test_parquet.py attacks/test_readers.py
claim: workbooks: a cell beside the columns costs its row; this rests on fastexcel (calamine)
    writing each cell as text by itself
    proof: data/excel.py
    test: contract/test_one_odd_cell.py data/reading/test_workbook.py
claim: SPSS, Stata and SAS: by the format of each variable; this rests on pyreadstat (ReadStat)
    taking the file apart, and on none of its conversions
    proof: data/statistical.py
    test: contract/test_one_odd_cell.py attacks/test_statistical_files.py
claim: SQLite: each value as text; a query of one form alone is unconditional; this rests on SQLite
    comparing values of all types without a fault, and on its schema's table
    proof: data/sql.py
    test: contract/test_one_odd_cell.py data/databases/test_connections.py
        data/databases/test_query_plan.py
claim: DuckDB: by the type of each column; a query of that form, whose bound plan has no conversion
    but of constants; this rests on the plan that DuckDB tells, and on its Arrow batches
    proof: data/sql.py
    test: contract/test_one_odd_cell.py data/databases/test_connections.py
claim: PostgreSQL: by the type of each column; a query of that form, of a stored table without
    policies; this rests on the server's catalogue, its own operators, and the ADBC driver
    proof: data/sql.py
    test: contract/test_one_odd_cell.py data/databases/test_connections.py
claim: pandas: a column's type decides how fast a value is read, and never as what; this rests on
    pandas having left its values as they were
    proof: data/sources.py data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Polars: by the type of each column; this rests on Polars, and for a lazy frame on its own
    steps not failing at a row
    proof: data/sources.py data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py
claim: Python objects: each is written by its own type, and none can stop the reading
    proof: data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Spark: a plan of plain columns and comparisons alone is unconditional, texts are split by our
    own reader; this rests on the plan that Spark tells, and on each row or line being given once
    proof: spark/plan.py spark/texts.py spark/jobs.py
    test: spark/test_one_odd_line.py spark/test_plan.py spark/test_session.py

WHERE SOMETHING IS CHOSEN

claim: the exponential mechanism over a list is drawn exactly, under a public rule
    proof: mechanisms/selection.py
    test: mechanisms/selection/test_exponential_mechanism.py attacks/test_selection.py
claim: each named score has the sensitivity that it states
    proof: mechanisms/selection_scores.py papers/generator_scores.py papers/hierarchy_mechanisms.py
    test: mechanisms/selection/test_dependence_scores.py
        mechanisms/selection/test_tree_distinguisher_score.py mechanisms/choices/test_tree_split.py
        dp/test_gate.py

MECHANISMS, each to be read alone

claim: a table with noise in every cell, and the number of rows, cost what their noise costs at
    L1 = L2 = 1, or L1 = 2 and L2 = √2 if a record is replaced
    proof: mechanisms/tables.py
    test: dp/test_sensitivity.py dp/test_gate.py
claim: a table of sums of weights costs what one of counts costs, as none counts above 1
    proof: mechanisms/weighted_tables.py data/sums.py features/scores.py
    test: mechanisms/counts/test_weighted_tables.py
claim: counts on a number line, beyond its bounds too, change as a table of one column does
    proof: mechanisms/tables.py data/sums.py features/grids.py
    test: mechanisms/counts/test_number_lines.py features/test_line_cells.py
claim: counts of how numbers are rounded change as a table of one column does
    proof: mechanisms/tables.py data/sums.py features/grids.py schema/numeric.py
    test: mechanisms/counts/test_heap_counts.py
claim: a number of successes changes by at most 1, also if a record is replaced
    proof: mechanisms/tables.py
    test: mechanisms/counts/test_binomial_count.py
claim: the number of random subsets that say yes to a claim changes by at most 1
    proof: mechanisms/votes.py features/design.py
    test: mechanisms/counts/test_votes.py mechanisms/counts/test_subset_estimates.py
claim: the ranges of one layer change as a table of one column does, and layers add up
    proof: papers/hierarchy_mechanisms.py
    test: mechanisms/counts/test_range_counts.py
claim: a layer of a tree of cells changes as a table does; leaves that are not written out are
    drawn as if they were, at the cost of one layer
    proof: papers/hierarchy_mechanisms.py
    test: mechanisms/counts/test_hierarchy_layer.py
claim: of a huge table, its cells above a threshold, or records from it, have the law of the table
    with noise in every cell, and its cost
    proof: mechanisms/sparse_tables.py dp/sampling.py
    test: oracles/test_empty_cells.py dp/noise/test_binomial_sampling.py
        dp/noise/test_large_counts.py
claim: a sum of numbers R wide changes by at most R/2, by R if a record is replaced, and a scatter
by
    no more than is stated from the schema, cells and lattice included
    proof: mechanisms/sums.py
    test: mechanisms/sums/test_sums.py
claim: sums of scores and of products of two change in L2 and L1 by no more than is stated from
    the schema alone
    proof: mechanisms/second_moments.py data/sums.py
    test: mechanisms/sums/test_second_moments.py data/test_score_products.py
claim: the random group of a record's cluster goes by its own name and a secret key alone
    proof: data/coding.py
    test: data/test_random_groups.py inference/weighted/test_random_groups.py
claim: where each record counts with a factor in [0, 1] of its own, they change by no more than
    those of records that count or do not
    proof: mechanisms/second_moments.py features/scores.py data/sums.py
    test: mechanisms/sums/test_weighted_moments.py
claim: sums that are taken apart by the states of a column change by no more than one record that
    is added, or than two of them in different states
    proof: mechanisms/second_moments.py data/sums.py
    test: inference/weighted/test_random_groups.py
claim: scores of terms, products of powers, logarithms and contrasts, are vectors of bounded
    length, whose sums and products change by no more than those of columns
    proof: features/terms.py mechanisms/second_moments.py data/sums.py
    test: mechanisms/sums/test_term_moments.py
claim: sums of products of rank scores change in L2 by no more than the length of a record allows,
    which is cut
    proof: mechanisms/second_moments.py features/scores.py data/sums.py
    test: mechanisms/sums/test_rank_products.py features/test_rank_scores.py data/test_rank_sums.py
claim: normal equations change by no more than (d + 1)(d + 4)/2 in L1, 2 in L∞, of d predictors
    proof: mechanisms/regression.py
    test: mechanisms/sums/test_linear_regression.py mechanisms/sums/test_normal_equations.py
claim: the choice of a candidate is the exponential mechanism at its price
    proof: mechanisms/selection.py
    test: dp/test_gate.py attacks/test_selection.py
claim: the columns that divide a layer cost one choice, as each record is in one of its nodes
    proof: papers/hierarchy_mechanisms.py
    test: mechanisms/choices/test_tree_split.py
claim: parameters of a generator cost one choice; found by a walk, under a stated condition
    proof: papers/generator_scores.py
    test: mechanisms/choices/test_censored_likelihood.py
        mechanisms/choices/test_censored_column_likelihood.py
        mechanisms/selection/test_metropolis.py
claim: an empirical distribution is one choice, by a score that changes by at most 1
    proof: papers/empirical_distribution.py
    test: mechanisms/choices/test_empirical_distribution.py
claim: the best of a random number of private tries costs 2 + η of what a try may cost
    proof: mechanisms/private_selection.py
    test: mechanisms/selection/test_private_selection.py end_to_end/test_choose.py
claim: divergences of the best of private tries exceed those of a try by C and log E[K]/(λ − 1)
    proof: mechanisms/private_selection.py
    test: mechanisms/selection/test_private_selection.py end_to_end/test_choose.py
claim: the largest distance of synthetic tables from the rows changes as one count does
    proof: mechanisms/private_selection.py
    test: mechanisms/selection/test_private_selection.py
claim: a random order looks at no row and costs nothing
    proof: mechanisms/selection.py
    test: checkpoint/test_journal.py
claim: ñ records from an urn are ε-private if a cell has a prior weight of ñ/(e^ε − 1), or of
    1/(e^(ε/ñ) − 1) without reinforcement
    proof: mechanisms/urn.py
    test: papers/records/test_urn.py papers/records/test_urn_sampling.py lemmas/test_urn.py
claim: a perturbed Gibbs step is ε-private if each state has a weight of 1/(e^ε − 1), and steps, or
    the steps of a block that one record reaches, add up
    proof: papers/perturbed_gibbs.py papers/gibbs_mechanisms.py
    test: papers/records/test_perturbed_gibbs.py papers/records/test_state_weights.py
        papers/records/test_perturbed_gibbs_reset.py papers/records/test_key_counts.py
claim: records swept through noisy tables, drawn as they are visited, cost those tables
    proof: papers/perturbed_gibbs.py
    test: papers/records/test_lazy_gibbs.py
claim: a perturbed imputation pays for each of its draws alike, whatever the regression says
    proof: papers/imputation_draws.py
    test: papers/records/test_imputation_draws.py

NOT DIFFERENTIALLY PRIVATE: an infinite cost, and a release that says so

claim: exact statistics are charged without limit, and stamped
    proof: papers/exact.py
    test: dp/test_gate.py methods/test_paper_mode.py
claim: quartiles that bins follow, as published, cost nothing and are stamped as a leak
    proof: papers/exact.py
    test: methods/parts/test_histogram_bins.py methods/test_paper_mode.py
claim: rows made ℓ-diverse are stamped; nothing else is promised of them
    proof: papers/perturbed_gibbs.py
    test: papers/not_dp/test_l_diverse_gibbs.py
claim: a draw of parameters under record weights promises something in the limit alone
    proof: papers/pseudo_posterior.py papers/record_weights.py
    test: papers/not_dp/test_pseudo_posterior_draw.py papers/not_dp/test_weighted_posterior.py
        papers/not_dp/test_record_weights.py

claim: columns that are published as they stand are charged without limit, and named
    proof: papers/pseudo_posterior.py
    test: papers/not_dp/test_pseudo_posterior_draw.py methods/test_pseudo_posterior.py

A RUN THAT IS CONTINUED

claim: charges and outcomes are on disk before they count, and lost charges are spent
    proof: checkpoint/replay.py checkpoint/journal.py
    test: checkpoint/test_journal.py end_to_end/test_resume.py contract/test_resume.py

`tests/boundary/test_map_of_proofs.py` sees to it that every file and test named here is there, and
that every mechanism has a line.
"""
