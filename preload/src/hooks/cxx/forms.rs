//! The list of all forms, from which their tables and functions are made.

/// Passes all forms to a macro, a row each: the operator; the index in tables; the function that is exported; its name,
/// and tcmalloc's other one; and the pseudo frame of its kind, 0 for delete.
macro_rules! forms {
    ($each:ident) => {
        $each! {
            new 0 operator_new "_Znwm" "tc_new" pseudo::NEW;
            new 1 operator_new_array "_Znam" "tc_newarray" pseudo::NEW_ARRAY;
            new 2 operator_new_nothrow "_ZnwmRKSt9nothrow_t" "tc_new_nothrow" pseudo::NEW;
            new 3 operator_new_array_nothrow "_ZnamRKSt9nothrow_t" "tc_newarray_nothrow" pseudo::NEW_ARRAY;
            new 4 operator_new_aligned "_ZnwmSt11align_val_t" "tc_new_aligned" pseudo::NEW_ALIGNED;
            new 5 operator_new_array_aligned "_ZnamSt11align_val_t" "tc_newarray_aligned" pseudo::NEW_ARRAY_ALIGNED;
            new 6 operator_new_aligned_nothrow "_ZnwmSt11align_val_tRKSt9nothrow_t" "tc_new_aligned_nothrow"
                pseudo::NEW_ALIGNED;
            new 7 operator_new_array_aligned_nothrow "_ZnamSt11align_val_tRKSt9nothrow_t" "tc_newarray_aligned_nothrow"
                pseudo::NEW_ARRAY_ALIGNED;
            delete 8 operator_delete "_ZdlPv" "tc_delete" 0;
            delete 9 operator_delete_array "_ZdaPv" "tc_deletearray" 0;
            delete 10 operator_delete_sized "_ZdlPvm" "tc_delete_sized" 0;
            delete 11 operator_delete_array_sized "_ZdaPvm" "tc_deletearray_sized" 0;
            delete 12 operator_delete_nothrow "_ZdlPvRKSt9nothrow_t" "tc_delete_nothrow" 0;
            delete 13 operator_delete_array_nothrow "_ZdaPvRKSt9nothrow_t" "tc_deletearray_nothrow" 0;
            delete 14 operator_delete_aligned "_ZdlPvSt11align_val_t" "tc_delete_aligned" 0;
            delete 15 operator_delete_array_aligned "_ZdaPvSt11align_val_t" "tc_deletearray_aligned" 0;
            delete 16 operator_delete_sized_aligned "_ZdlPvmSt11align_val_t" "tc_delete_sized_aligned" 0;
            delete 17 operator_delete_array_sized_aligned "_ZdaPvmSt11align_val_t" "tc_deletearray_sized_aligned" 0;
            delete 18 operator_delete_aligned_nothrow "_ZdlPvSt11align_val_tRKSt9nothrow_t" "tc_delete_aligned_nothrow" 0;
            delete 19 operator_delete_array_aligned_nothrow "_ZdaPvSt11align_val_tRKSt9nothrow_t" "tc_deletearray_aligned_nothrow"
                0;
        }
    };
}
pub(super) use forms;

/// The wrapper of a form: [`new_wrapper`](crate::hooks::shims::new_wrapper) and the same for delete. Goes on to the
/// function in a table, and has the event recorded.
macro_rules! wrapper {
    ($label:literal new $index:literal $function:ident, $table:ident, $delete:ident) => {
        $crate::hooks::shims::new_wrapper! { $label $function, $table, $index, record }
    };
    ($label:literal delete $index:literal $function:ident, $table:ident, $delete:ident) => {
        $crate::hooks::shims::delete_wrapper! { $function, $delete, $index }
    };
}
pub(super) use wrapper;

/// The address to which the next form returns into a wrapper of `new`; null for delete.
macro_rules! return_address {
    ($label:literal new $function:ident) => {{
        unsafe extern "C" {
            #[link_name = concat!($label, stringify!($function), "_called")]
            fn called();
        }
        called as *const ()
    }};
    ($label:literal delete $function:ident) => {
        core::ptr::null()
    };
}
pub(super) use return_address;
