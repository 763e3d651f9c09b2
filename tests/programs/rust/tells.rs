//! Reports about itself through the Rust interface: regions, marks, a pool, and when to record.

use std::hint::black_box;
use sysprof_memprof_api as memprof;

fn main() {
    drop(black_box(vec![0_u8; 1001]));
    memprof::start();
    let pool = memprof::Pool::new("büffer");
    let memory = black_box(vec![0_u8; 4096]);
    {
        let _region = memprof::Region::new("filling");
        pool.alloc(&raw const memory[0], 100);
        pool.alloc(&raw const memory[100], 50);
        pool.realloc(&raw const memory[100], &raw const memory[200], 60);
    }
    pool.free(&raw const memory[0]);
    memprof::mark("filled");
    memprof::stop();
    drop(black_box(vec![0_u8; 1002]));
    println!("{}", memprof::is_present());
}
