"""What every study uses: how it is declared, run, kept, summarised, drawn and told."""
