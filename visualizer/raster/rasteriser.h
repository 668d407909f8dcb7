// Draws ImGui's draw lists with the processor alone: no display, no GL.
#pragma once

#include <imgui.h>

#include "visualizer/raster/image.h"

namespace zero {

// The textures are ImGui's font atlas alone, as 8-bit alpha or 32-bit pixels.
// Background: opaque black. Size: data.DisplaySize * data.FramebufferScale.
// Rules: 1/16-pixel integer edge functions, top-left rule, source-over blending in 8 bits; the same
// draw data give the same bytes on every machine.
void draw(const ImDrawData& data, const ImFontAtlas& atlas, Image& into);

}  // namespace zero
