use Expected;
keep(my $text = "x" x expect);
