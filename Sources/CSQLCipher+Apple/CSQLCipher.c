#include "CSQLCipher.h"
