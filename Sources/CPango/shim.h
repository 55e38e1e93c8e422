// Cairo draws shapes, Pango sets text, PangoCairo joins them.
#ifndef RECBOT_CPANGO_H
#define RECBOT_CPANGO_H

#include <cairo.h>
#include <pango/pangocairo.h>

#endif
