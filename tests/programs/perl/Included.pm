package Included;
use Expected;

keep(my $at_top = "x" x expect);

sub of_module {
    keep(my $text = "x" x expect);
}

1;
