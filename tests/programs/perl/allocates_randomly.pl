# Allocates a thousand blocks in functions that call each other in random ways.
use strict;
use warnings;
use FindBin ();
use lib $FindBin::Bin;
use Expected;
use List::Util qw(first);

my $count = 0;
srand $ARGV[0];

sub direct { go($_[0]) }
sub twice { go($_[0]); go($_[0]) }
sub by_closure { my $depth = shift; (sub { go($depth) })->() }
sub by_sort { my $depth = shift; my @two = sort { go($depth); $a <=> $b } 2, 1 }
sub compare { go($main::deep); $a <=> $b }
sub by_named_sort { local $main::deep = shift; my @two = sort compare 2, 1 }
sub by_first { my $depth = shift; first { go($depth); 1 } 1 }
sub by_map { my $depth = shift; my @mapped = map { go($depth); 1 } 1, 2 }
sub by_name { no strict 'refs'; &{"direct"}($_[0]) }
sub by_jump { goto &direct }
sub by_expression { my $depth = shift; (my $text = "a") =~ s/a/go($depth); 1/e }
sub by_pattern { local $main::deep = shift; "a" =~ /a(?{ go($main::deep) })/ }

sub by_exception {
    my $depth = shift;
    eval { go($depth - 1); die "no\n" };
    go($depth);
}

sub by_text {
    my $depth = shift;
    eval "\n" x int(rand 5) . 'go($depth)';
    die $@ if $@;
}

sub by_definition {
    my $depth = shift;
    my $made = eval "\n" x int(rand 5) . "sub {\n go(\$_[0]) }" or die $@;
    $made->($depth);
}

package Maker {
    sub new { my ($class, $depth) = @_; main::go($depth); return bless { depth => $depth }, $class }
    sub DESTROY { main::go($_[0]{depth} - 1) }
    use overload '""' => sub { main::go($_[0]{depth}); 'made' };
    our $AUTOLOAD;
    sub AUTOLOAD { main::go($_[1]) }
}

sub by_object { my $made = Maker->new($_[0]); my $text = "$made"; $made->missing($_[0] - 1); undef $made; return }

sub by_tie {
    package Tied;
    sub TIESCALAR { my ($class, $depth) = @_; return bless \$depth, $class }
    sub FETCH { main::go(${ $_[0] }); return 1 }
    tie my $tied, 'Tied', $_[0];
    my $value = $tied;
}

my @ways = (
    \&direct, \&twice, \&by_closure, \&by_sort, \&by_named_sort, \&by_first, \&by_map, \&by_name, \&by_jump,
    \&by_expression, \&by_pattern, \&by_exception, \&by_text, \&by_definition, \&by_object, \&by_tie,
);

sub go {
    my $depth = shift;
    if ($depth <= 0 || rand 8 < 1) {
        return if $count++ >= 1000;
        return keep(my $text = "x" x expect);
    }
    $ways[rand @ways]->(
        $depth - 1
    );
    return;
}

go(int rand 12) while $count < 1000;
report();
