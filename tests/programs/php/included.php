<?php

$kept[] = str_repeat('x', expect());

function of_included_file()
{
    global $kept;

    $kept[] = str_repeat('x', expect());
}

return function () {
    global $kept;
    $kept[] = str_repeat('x', expect());
};
