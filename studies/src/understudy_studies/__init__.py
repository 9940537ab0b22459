"""Simulation studies and case studies of Understudy, reproducible by name: `understudy study NAME`.

| folder                      | what it studies                                                    |
|-----------------------------|--------------------------------------------------------------------|
| `repeated_sampling`         | do intervals from a release hold the truth as often as they claim? |
| `bowen_liu_2020`            | the comparative study of synthesis methods                         |
| `bowen_liu_su_2021`         | STEPS and universal histograms, simulated and on young voters      |
| `park_ghosh_2014`           | perturbed Gibbs samplers on hospital discharges                    |
| `snoke_slavkovic_2018`      | the pMSE mechanism, with exact trees beside greedy ones            |
| `savitsky_williams_hu_2020` | the pseudo posterior mechanism on a skewed income                  |

`all_studies` lists them, `framework` runs them, `measures` holds scores and models that nothing
else uses. Importing this package loads none of them. In a study `population`, `simulation`,
`figures`, `claims` and `page` are always the same parts: whom the records are about, what is
repeated, what is drawn, what the paper says beside what was measured, and what the page tells. The
page's fixed prose stands beside it as `page.md.jinja`, and its numbers are filled in.
"""
