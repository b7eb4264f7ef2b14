// Whole numbers and decimals at a place in text on the device, as kernels/text/numbers.py reads them.
//
// Contract: text ends in a newline, which ends a number. `kinds` is the table of `byte_kinds`. A function that
// returns false met something that the reader of the CPU refuses, or a decimal that one multiplication does not
// round exactly (Clinger, PLDI 1990, section 3); the reader of the CPU decides about it.
#include "kernels/cuda/types.cuh"

constexpr u8 OTHER = 0, BLANK = 1, NEWLINE = 2, DELIMITER = 3, COMMENT = 4;
constexpr u64 LARGEST_ID = 0x7fffffffffffffffull;
constexpr u64 FULL = LARGEST_ID / 10;  // a value above it has no room for another digit

__device__ __forceinline__ u32 digit_at(const u8* text, u64 place) { return u32(text[place]) - 48u; }

__device__ __forceinline__ bool ends_number(u8 kind) { return kind != OTHER && kind != COMMENT; }

__device__ __forceinline__ bool read_integer(const u8* text, const u8* kinds, u64& place, u64& value) {
    const u64 begin = place;
    value = 0;
    for (u32 digit = digit_at(text, place); digit < 10; digit = digit_at(text, ++place)) {
        if (value > FULL) return false;
        value = value * 10 + digit;
    }
    return place != begin && value <= LARGEST_ID && ends_number(kinds[text[place]]);
}

// 10^exponent for exponents up to 22, each exact in a double.
__device__ __forceinline__ double power_of_ten(i32 exponent) {
    double power = 1;
    for (i32 i = 0; i < exponent; i++) power = __dmul_rn(power, 10.0);
    return power;
}

__device__ __noinline__ bool read_decimal(const u8* text, const u8* kinds, u64& place, double& value) {
    const bool negative = text[place] == '-';
    if (negative || text[place] == '+') ++place;
    i64 mantissa = 0;
    i32 exponent = 0, digits = 0;
    for (i32 part = 0; part < 2; part++) {
        if (part == 1) {
            if (text[place] != '.') break;
            ++place;
        }
        for (u32 digit = digit_at(text, place); digit < 10; digit = digit_at(text, ++place)) {
            if (mantissa >= (1ll << 53) / 10) return false;
            mantissa = mantissa * 10 + digit;
            exponent -= part;
            ++digits;
        }
    }
    if (digits == 0) return false;
    if (text[place] == 'e' || text[place] == 'E') {
        ++place;
        const bool down = text[place] == '-';
        if (down || text[place] == '+') ++place;
        i32 power = 0;
        const u64 first = place;
        for (u32 digit = digit_at(text, place); digit < 10; digit = digit_at(text, ++place))
            power = power > 9999 ? 99999 : power * 10 + i32(digit);
        if (place == first) return false;
        exponent += down ? -power : power;
    }
    if (!ends_number(kinds[text[place]]) || exponent < -22 || exponent > 22) return false;
    value = double(mantissa);
    value = exponent >= 0 ? __dmul_rn(value, power_of_ten(exponent)) : __ddiv_rn(value, power_of_ten(-exponent));
    if (negative) value = -value;
    return true;
}
