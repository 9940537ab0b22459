"""BOUNDARY: what must be right for a stated guarantee to hold, and where it is shown.

A release rests on `gate.py` with what that imports, on the rooms `accounting` and `noise`, on
`engine/` without `engine/steward/`, and on those mechanisms that its ledger names. Nothing else.
Files are those of this room, tests those below `tests/`.

TRUSTED BASE

claim: a charge comes before every look at the rows
    proof: gate.py
    test: contract/test_ledger.py
claim: nobody but the gate releases, hands out rows, or is told which mechanisms there are
    proof: gate.py
    test: boundary/test_house.py boundary/test_named_types.py
claim: a mechanism is its public fields, made again, and nothing of a method's own
    proof: admission.py mechanism.py
    test: attacks/test_gate.py
claim: a price follows from public facts; a schema that somebody altered never meets the rows
    proof: terms.py secret_rows.py
    test: attacks/test_gate.py attacks/test_numbers.py privacy/test_views.py
claim: costs add up under adaptive composition, whichever thread or process asks
    proof: accounting/ledger.py accounting/gaussian_dp.py process.py
    test: attacks/test_ledger.py privacy/accounting/test_gaussian_dp.py
        lemmas/test_discrete_gaussian.py lemmas/test_choice_with_rest.py
        lemmas/test_bounded_range.py
claim: a run that ended is booked at what it cost, whatever rest its choices were priced with
    proof: accounting/run_cost.py accounting/gaussian_dp.py
    test: privacy/accounting/test_run_cost.py populations/test_run_costs.py
claim: ε and δ follow from what the ledger sums
    proof: accounting/budget.py accounting/gaussian_dp.py
    test: privacy/accounting/test_budget.py privacy/accounting/test_gdp_accounting.py
claim: a release promises no more than what its mechanisms said
    proof: accounting/promise.py accounting/guarantee.py
    test: privacy/test_gate.py attacks/test_draft.py
claim: bits are unpredictable, and never given twice
    proof: noise/randomness.py
    test: privacy/noise/test_randomness.py
claim: draws follow the stated distribution exactly
    proof: noise/rejection_sampling.py noise/inversion_sampling.py noise/distributions.py
    test: privacy/noise/test_rejection_sampling.py privacy/noise/test_inversion_sampling.py
        privacy/noise/test_distributions.py
claim: a record moves a table by 1 in one cell, or in two if it is replaced
    proof: noise/calibration.py
    test: privacy/test_sensitivity.py
claim: noise that is kept inside bounds, or put on a lattice, is calibrated for that
    proof: noise/truncated_laplace.py noise/lattice_rounding.py noise/perturbation.py
    test: privacy/noise/test_truncated_laplace.py privacy/noise/test_lattice_rounding.py
        lemmas/test_truncation.py
claim: rows become states record by record, once a reader gives each cell by itself
    proof: ../data/coding.py
    test: oracles/test_counting.py contract/test_reading.py

READERS: rows become states record by record, each with what it rests on beside this package

claim: CSV and TSV: lines are split by our own kernels; this rests on the library that unpacks
    a packed file
    proof: ../data/csv.py ../data/csv.py
        ../data/csv.py ../data/csv.py
    test: contract/test_one_odd_cell.py attacks/test_text_files.py
claim: JSON lines: each line by itself; this rests on Python's decoder, of one line
    proof: ../data/jsonl.py
    test: contract/test_one_odd_cell.py contract/test_reading.py engine/reading/test_json_lines.py
claim: Arrow files and tables: by the types in their heading; this rests on PyArrow giving each
    value of a type as it is written
    proof: ../data/parquet.py ../data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Parquet: each file by its own types; this rests on PyArrow and Polars decoding each value
    by itself
    proof: ../data/parquet.py ../data/frames.py
    test: contract/test_one_odd_cell.py engine/reading/test_parquet.py attacks/test_readers.py
claim: workbooks: a cell beside the columns costs its row; this rests on fastexcel (calamine)
    writing each cell as text by itself
    proof: ../data/excel.py ../data/excel.py
    test: contract/test_one_odd_cell.py engine/reading/test_workbook.py
claim: SPSS, Stata and SAS: by the format of each variable; this rests on pyreadstat (ReadStat)
    taking the file apart, and on none of its conversions
    proof: ../data/statistical.py
    test: contract/test_one_odd_cell.py attacks/test_statistical_files.py
claim: SQLite: each value as text; a query of one form alone is unconditional; this rests on SQLite
    comparing values of all types without a fault, and on its schema's table
    proof: ../data/sql.py ../data/sql.py
    test: contract/test_one_odd_cell.py engine/reading/databases/test_connections.py
        engine/reading/databases/test_query_plan.py
claim: DuckDB: by the type of each column; a query of that form, whose bound plan has no conversion
    but of constants; this rests on the plan that DuckDB tells, and on its Arrow batches
    proof: ../data/sql.py ../data/sql.py
    test: contract/test_one_odd_cell.py engine/reading/databases/test_connections.py
claim: PostgreSQL: by the type of each column; a query of that form, of a stored table without
    policies; this rests on the server's catalogue, its own operators, and the ADBC driver
    proof: ../data/sql.py ../data/sql.py
    test: contract/test_one_odd_cell.py engine/reading/databases/test_connections.py
claim: pandas: a column's type decides how fast a value is read, and never as what; this rests on
    pandas having left its values as they were
    proof: ../data/sources.py ../data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Polars: by the type of each column; this rests on Polars, and for a lazy frame on its own
    steps not failing at a row
    proof: ../data/sources.py ../data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py
claim: Python objects: each is written by its own type, and none can stop the reading
    proof: ../data/frames.py
    test: contract/test_one_odd_cell.py contract/test_reading.py attacks/test_readers.py
claim: Spark: a plan of plain columns and comparisons alone is unconditional, texts are split by our
    own reader; this rests on the plan that Spark tells, and on each row or line being given once
    proof: ../spark/plan.py ../spark/plan.py ../spark/texts.py
        ../spark/jobs.py
    test: engine/spark/test_one_odd_line.py engine/spark/test_plan.py engine/spark/test_session.py

WHERE SOMETHING IS CHOSEN

claim: the exponential mechanism over a list is drawn exactly, under a public rule
    proof: selection/exponential_mechanism.py selection/choice_charge.py
    test: privacy/selection/test_exponential_mechanism.py attacks/test_selection.py
claim: each named score has the sensitivity that it states
    proof: selection/scores.py selection/dependence_scores.py
        selection/tree_distinguisher_score.py selection/aic_score.py selection/bic_score.py
    test: privacy/selection/test_dependence_scores.py
        privacy/selection/test_tree_distinguisher_score.py
        privacy/mechanisms/choices/test_tree_split.py privacy/test_gate.py

MECHANISMS, each to be read alone

claim: a table with noise in every cell, and the number of rows, cost what their noise costs at
    L1 = L2 = 1, or L1 = 2 and L2 = √2 if a record is replaced
    proof: mechanisms/counts/noisy_table.py
    test: privacy/test_sensitivity.py privacy/test_gate.py
claim: counts on a number line, beyond its bounds too, change as a table of one column does
    proof: mechanisms/counts/number_lines.py ../data/sums.py ../features/grids.py
    test: privacy/mechanisms/counts/test_number_lines.py features/test_line_cells.py
claim: counts of how numbers are rounded change as a table of one column does
    proof: mechanisms/counts/heap_counts.py ../data/sums.py ../features/grids.py
        ../schema/numeric.py
    test: privacy/mechanisms/counts/test_heap_counts.py
claim: a number of successes changes by at most 1, also if a record is replaced
    proof: mechanisms/counts/binomial_count.py
    test: privacy/mechanisms/counts/test_binomial_count.py
claim: the number of random subsets that say yes to a claim changes by at most 1
    proof: mechanisms/counts/votes.py mechanisms/counts/subset_estimates.py
        ../features/design.py
    test: privacy/mechanisms/counts/test_votes.py
        privacy/mechanisms/counts/test_subset_estimates.py
claim: the ranges of one layer change as a table of one column does, and layers add up
    proof: mechanisms/counts/hierarchy_layer.py
    test: privacy/mechanisms/counts/test_range_counts.py
claim: a layer of a tree of cells changes as a table does; leaves that are not written out are
    drawn as if they were, at the cost of one layer
    proof: mechanisms/counts/hierarchy_layer.py mechanisms/counts/lazy_leaves.py
    test: privacy/mechanisms/counts/test_hierarchy_layer.py
claim: of a huge table, its cells above a threshold, or records from it, have the law of the table
    with noise in every cell, and its cost
    proof: mechanisms/counts/threshold_table.py mechanisms/counts/lazy_table.py
        noise/binomial_sampling.py noise/large_counts.py
    test: oracles/test_empty_cells.py privacy/noise/test_binomial_sampling.py
        privacy/noise/test_large_counts.py
claim: a sum of numbers R wide changes by at most R/2, by R if a record is replaced, and a scatter
by
    no more than is stated from the schema, cells and lattice included
    proof: mechanisms/sums/moments.py mechanisms/sums/moment_noise.py
        mechanisms/sums/scatter.py
    test: privacy/mechanisms/sums/test_moments.py
claim: sums of scores and of products of two change in L2 and L1 by no more than is stated from
    the schema alone
    proof: mechanisms/sums/score_moments.py mechanisms/sums/score_sensitivity.py
        ../data/sums.py
    test: privacy/mechanisms/sums/test_score_moments.py engine/test_score_products.py
claim: sums of products of rank scores change in L2 by no more than the length of a record allows,
    which is cut
    proof: mechanisms/sums/rank_products.py ../features/scores.py ../data/sums.py
    test: privacy/mechanisms/sums/test_rank_products.py features/test_rank_scores.py
        engine/test_rank_sums.py
claim: normal equations change by no more than (d + 1)(d + 4)/2 in L1, 2 in L∞, of d predictors
    proof: mechanisms/sums/linear_regression.py mechanisms/sums/normal_equations.py
        mechanisms/sums/k_norm.py
    test: privacy/mechanisms/sums/test_linear_regression.py
        privacy/mechanisms/sums/test_normal_equations.py
claim: the choice of a candidate is the exponential mechanism at its price
    proof: mechanisms/choices/candidate.py
    test: privacy/test_gate.py attacks/test_selection.py
claim: the columns that divide a layer cost one choice, as each record is in one of its nodes
    proof: mechanisms/choices/tree_split.py
    test: privacy/mechanisms/choices/test_tree_split.py
claim: parameters of a generator cost one choice; found by a walk, under a stated condition
    proof: mechanisms/choices/parameters.py mechanisms/choices/censored_likelihood.py
        mechanisms/choices/censored_column_likelihood.py selection/metropolis.py
    test: privacy/mechanisms/choices/test_censored_likelihood.py
        privacy/mechanisms/choices/test_censored_column_likelihood.py
        privacy/selection/test_metropolis.py
claim: an empirical distribution is one choice, by a score that changes by at most 1
    proof: mechanisms/choices/empirical_distribution.py mechanisms/choices/distribution_bands.py
    test: privacy/mechanisms/choices/test_empirical_distribution.py
claim: a random order looks at no row and costs nothing
    proof: mechanisms/choices/candidate.py
    test: privacy/checkpoint/test_journal.py
claim: ñ records from an urn are ε-private if a cell has a prior weight of ñ/(e^ε − 1), or of
    1/(e^(ε/ñ) − 1) without reinforcement
    proof: mechanisms/records/urn.py mechanisms/records/urn_sampling.py
    test: privacy/mechanisms/records/test_urn.py privacy/mechanisms/records/test_urn_sampling.py
        lemmas/test_urn.py
claim: a perturbed Gibbs step is ε-private if each state has a weight of 1/(e^ε − 1), and steps, or
    the steps of a block that one record reaches, add up
    proof: mechanisms/records/perturbed_gibbs.py mechanisms/records/perturbed_gibbs_reset.py
        mechanisms/records/gibbs_chain.py mechanisms/records/key_counts.py
        mechanisms/records/state_weights.py
    test: privacy/mechanisms/records/test_perturbed_gibbs.py
        privacy/mechanisms/records/test_state_weights.py
        privacy/mechanisms/records/test_perturbed_gibbs_reset.py
        privacy/mechanisms/records/test_key_counts.py
claim: records swept through noisy tables, drawn as they are visited, cost those tables
    proof: mechanisms/records/lazy_gibbs.py mechanisms/records/noisy_rows.py
    test: privacy/mechanisms/records/test_lazy_gibbs.py
claim: a perturbed imputation pays for each of its draws alike, whatever the regression says
    proof: mechanisms/records/imputation_draws.py mechanisms/records/imputers.py
        mechanisms/records/elastic_net.py
    test: privacy/mechanisms/records/test_imputation_draws.py

NOT DIFFERENTIALLY PRIVATE: an infinite cost, and a release that says so

claim: exact statistics are charged without limit, and stamped
    proof: not_dp/exact_statistics.py
    test: privacy/test_gate.py methods/test_paper_mode.py
claim: quartiles that bins follow, as published, cost nothing and are stamped as a leak
    proof: not_dp/exact_quartiles.py
    test: families/test_histogram_bins.py methods/test_paper_mode.py
claim: rows made ℓ-diverse are stamped; nothing else is promised of them
    proof: not_dp/l_diverse_gibbs.py
    test: privacy/not_dp/test_l_diverse_gibbs.py
claim: a draw of parameters under record weights promises something in the limit alone
    proof: not_dp/pseudo_posterior_draw.py not_dp/weighted_posterior.py not_dp/record_weights.py
        not_dp/weighting_spec.py
    test: privacy/not_dp/test_pseudo_posterior_draw.py privacy/not_dp/test_weighted_posterior.py
        privacy/not_dp/test_record_weights.py

claim: columns that are published as they stand are charged without limit, and named
    proof: not_dp/pseudo_posterior_draw.py
    test: privacy/not_dp/test_pseudo_posterior_draw.py methods/test_pseudo_posterior.py

A RUN THAT IS CONTINUED

claim: charges and outcomes are on disk before they count, and lost charges are spent
    proof: checkpoint/replay.py checkpoint/journal.py
    test: privacy/checkpoint/test_journal.py end_to_end/test_resume.py contract/test_resume.py

`tests/boundary/test_map_of_proofs.py` sees to it that every file and test named here is there, and
that every mechanism has a line.
"""
