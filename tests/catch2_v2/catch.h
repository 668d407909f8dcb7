// Catch2 version 2, one header.
#pragma once
#include <catch2/catch.hpp>
