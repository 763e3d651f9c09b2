// An extension of Python that keeps a copy of each row that it is given, and forgets the last one's.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

static char *last;

static char *copy_of(const char *text, Py_ssize_t length) {
    char *row = malloc((size_t)length);
    if (row)
        memcpy(row, text, (size_t)length);
    return row;
}

static PyObject *keep(PyObject *module, PyObject *row) {
    (void)module;
    char *text;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(row, &text, &length) < 0)
        return NULL;
    last = copy_of(text, length);
    Py_RETURN_NONE;
}

// Calls a function for each of so many rows.
static PyObject *each(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *function;
    int count;
    if (!PyArg_ParseTuple(arguments, "Oi", &function, &count))
        return NULL;
    for (int row = 0; row < count; row++) {
        PyObject *result = PyObject_CallFunction(function, "i", row);
        if (!result)
            return NULL;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"keep", keep, METH_O, "Keeps a copy of a row."},
    {"each", each, METH_VARARGS, "Calls a function for each row."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "kept_rows", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kept_rows(void) { return PyModule_Create(&definition); }
