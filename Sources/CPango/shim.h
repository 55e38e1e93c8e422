// Cairo draws shapes, Pango sets text, PangoCairo joins them.
#ifndef RECBOT_CPANGO_H
#define RECBOT_CPANGO_H

#include <cairo.h>
#include <pango/pangocairo.h>

// The bit of a glyph that says that no font has the character (the macro is a cast, which isn't imported).
static const PangoGlyph recbot_pango_unknown = PANGO_GLYPH_UNKNOWN_FLAG;

#endif
