# Allocates blocks of a size each in every kind of frame, and prints which stack each of them has.
use strict;
use warnings;
use FindBin ();
use lib $FindBin::Bin;
use Expected;
use List::Util qw(first reduce);

sub plain { keep(my $text = "x" x expect) }

BEGIN { keep(my $text = "x" x expect) }

package Row {
    use Expected;

    sub new {
        my $class = shift;
        keep(my $text = "x" x expect);
        return bless {@_}, $class;
    }

    sub filled {
        my $self = shift;
        for (1 .. 2) {
            if ($_) {
                keep(my $text = "x" x expect);
            }
        }
        my $inner = sub {
            keep(my $text = "x" x expect);
            return sub { keep(my $text = "x" x expect) };
        };
        $inner->()->();
    }

    use overload
        '""' => sub { keep(my $text = "x" x expect); "row" },
        '<=>' => \&compare,
        'bool' => sub { 1 };

    sub compare {
        my ($one, $other) = @_;
        keep(my $text = "x" x expect);
        return $one->{number} - $other->{number};
    }

    sub DESTROY { keep(my $text = "x" x expect) }

    our $AUTOLOAD;

    sub AUTOLOAD {
        keep(my $text = "x" x expect);
        my $name = $AUTOLOAD =~ s/.*:://r;
        goto &plain_goto if $name eq 'jump';
        return $name;
    }

    sub plain_goto { keep(my $text = "x" x expect) }
}

package Tied {
    use Expected;
    sub TIESCALAR { keep(my $text = "x" x expect); return bless [], shift }
    sub FETCH { keep(my $text = "x" x expect); return 7 }
    sub STORE { eval { keep(my $text = "x" x expect); die "no\n" }; keep(my $text = "x" x expect) }
}

sub recurse {
    my $depth = shift;
    if ($depth > 0) {
        return recurse(
            $depth - 1
        );
    }
    keep(my $text = "x" x expect);
}

sub by_number { keep(my $text = "x" x expect); $a <=> $b }

sub fails {
    my $depth = shift;
    if ($depth == 0) {
        keep(my $text = "x" x expect);
        die { depth => $depth };
    }
    eval { fails($depth - 1); 1 } or do {
        keep(my $text = "x" x expect);
        die $@ if $depth < 3;
    };
}

sub everything {
    plain();
    my $row = Row->new(number => 1);
    $row->filled;
    "$row" eq 'row' or die;
    my @rows = sort { $a <=> $b } $row, Row->new(number => 0);
    $row->unknown;
    $row->jump;
    undef @rows;
    undef $row;
    recurse($_) for 1, 5, 20;
    my @sorted = sort by_number 3, 1, 2;
    @sorted = sort { keep(my $text = "x" x expect); $b <=> $a } 3, 1, 2;
    my $found = first { keep(my $text = "x" x expect); $_ > 1 } 1, 2, 3;
    my $sum = reduce { keep(my $text = "x" x expect); plain(); $a + $b } 1, 2, 3;
    my @mapped = map { plain(); $_ + 1 } grep { keep(my $text = "x" x expect); 1 } 1, 2;
    tie my $tied, 'Tied';
    my $value = $tied;
    $tied = 8;
    fails(3);
    eval q{
        keep(my $text = "x" x expect);
        sub in_text { keep(my $text = "x" x expect) }
        in_text();
        eval { plain(); die "here\n" };
        plain();
    };
    die $@ if $@;
    (my $copy = "abc") =~ s/b/keep(my $text = "x" x expect); plain(); 1/e;
    "abc" =~ /b(?{ plain(); })c/;
    local $SIG{__WARN__} = sub { keep(my $text = "x" x expect) };
    warn "told";
    local $SIG{__DIE__} = sub { keep(my $text = "x" x expect) };
    eval { die "told" };
    require Included;
    Included::of_module();
    do "$FindBin::Bin/done.pl";
    my $named = \&{"plain"};
    no strict 'refs';
    local *{"main::alias"} = $named;
    main->can('alias')->();
    local $SIG{ALRM} = sub { keep(my $text = "x" x expect) };
    kill ALRM => $$;
    my $after = 1;
}

everything();

# Code that dies, and other code at its place.
for my $round (1 .. 40) {
    my $code = "\n" x ($round % 7) . "sub { my \$depth = shift; \$depth ? __SUB__->(\$depth - 1) : keep(my \$text = 'x' x expect) }";
    my $sub = eval "package Made$round; use feature 'current_sub'; use Expected; $code" or die $@;
    $sub->($round % 3);
}
for my $round (1 .. 40) {
    eval "package main;" . "\n" x ($round % 11) . "sub made_$round { keep(my \$text = 'x' x expect) } made_$round(); undef &made_$round; delete \$main::{made_$round}; 1" or die $@;
}
keep(my $text = "x" x expect);
END { keep(my $text = "x" x expect); report() }
