"""Bayesian posteriors under record weights, and censored ones. CONFIDENTIAL but for what is drawn.

Kernels and samplers know arrays alone; `records.Records` are the rows as a column model sees them.
The verbs that pay for a draw and let it out are in
`understudy.privacy.not_dp.pseudo_posterior_draw` (pseudo posteriors, without differential privacy
at a finite number of rows) and `understudy.privacy.mechanisms.choices.parameters` (censored ones).
"""
