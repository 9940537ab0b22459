"""The studies of Snoke & Slavković on the pMSE mechanism, with exact trees beside greedy ones."""
