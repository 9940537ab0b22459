"""The methods of five papers that are not general-purpose, with all they rest on."""
