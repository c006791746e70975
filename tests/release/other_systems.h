/* Appended to pyconfig.h of the Python at hand, for `make cross`: in what Python on Windows differs. */
#ifdef _WIN32
#undef HAVE_SYS_SELECT_H
#undef SIZEOF_LONG
#define SIZEOF_LONG 4
#undef SIZEOF_WCHAR_T
#define SIZEOF_WCHAR_T 2
#define MS_WINDOWS 1
#define MS_WIN64 1
#endif
