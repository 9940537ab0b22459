"""Two traits of a record, by noisy counts: odds ratios, tests of independence, differences."""
