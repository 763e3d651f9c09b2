# What scripts say of their own blocks: a size for each, and the stack that the interpreter itself names.
#
# `expect` is called on the line that allocates a text of that length, and `keep` is given the text. A line of `report` is
# a block: its size, and its frames from the innermost outwards, each as NAME:LINE. Blocks of `eval` are left out: they
# are a part of their function.

package Expected;
use strict;
use warnings;
use B ();
use Exporter 'import';
our @EXPORT = qw(expect keep report);

my (@kept, @lines);
my $size = 40000;

# Notes the stack of the caller, and returns the length of its text.
sub expect {
    my @frames;
    my $line = (caller 0)[2];
    for (my $depth = 1; my @call = caller $depth; $depth++) {
        my ($caller_line, $sub, $text, $is_file) = @call[2, 3, 6, 7];
        next if $sub eq '(eval)' && !defined $text && !$is_file;
        $sub = '(require)' if $is_file;
        push @frames, "$sub:$line";
        $line = $caller_line;
    }
    push @lines, join ' ', @frames, "<main>:$line";
    return $size += 100;
}

# Keeps a text; its block is larger than the text, by how much depends on the version.
sub keep {
    push @kept, \$_[0];
    my $bytes = B::svref_2object(\$_[0])->LEN;
    $lines[-1] = "$bytes $lines[-1]" if $lines[-1] !~ /^\d/;
    return;
}

sub report { print "$_\n" for @lines }

1;
