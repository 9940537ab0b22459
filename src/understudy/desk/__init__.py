"""The steward's desk: local web pages from a confidential file to its publication.

A face without logic of its own. Every decision is made by the functions that the command line
calls, and reading and releasing run in processes of their own, by public commands. So this process
never holds rows; it imports neither what reads them nor what draws noise, which a contract of the
linter keeps.

State is files in one folder for each project (`project`). A session holds nothing but the cookie
(`door`), so that reload, a second start and the command line go on with each other.
"""
