// Draws ImGui's draw lists with the processor alone: no display, no GL.
#pragma once

#include <imgui.h>

#include "visualizer/raster/image.h"

namespace zero {

// Draws over what is there. Size: `into` has its size already, in device pixels, which are
// data.FramebufferScale times ImGui's. The only texture is ImGui's font atlas, built before.
//
// Corners are moved to the nearest 1/16 of a pixel; from there on all arithmetic is in integers, so
// the same draw data give the same bytes on every machine. A pixel belongs to a triangle when its
// centre lies inside, or on a top or left edge: triangles that share an edge cover every pixel
// once. Colours and texture coordinates are interpolated exactly; the texture is sampled
// bilinearly; blending is source-over. Left out: what has a corner that is no number, or more than
// 32,767 pixels away (rectangles of one colour, upright, may reach further), and user callbacks.
void draw(const ImDrawData& data, const ImFontAtlas& atlas, Image& into);

}  // namespace zero
