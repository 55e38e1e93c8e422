#include "CYUV.h"

// libyuv interpolates columns two at a time, which makes a scale of, say, 640 to 410 columns eight times as dear as an
// exact half. Here 16 columns are made at once: the pixels that are needed are interpolated between two rows, shuffled
// into pairs and interpolated again. Values are kept as signed bytes in between, so that weights up to 128 fit.

#if defined(__x86_64__)

#include <immintrin.h>

bool recbot_has_bilinear(void) { return __builtin_cpu_supports("avx2"); }

__attribute__((target("avx2"))) static inline __m256i two_rows(
    __m256i upper, __m256i lower, __m256i row_weights, __m256i sign, __m256i half) {
  upper = _mm256_xor_si256(upper, sign);
  lower = _mm256_xor_si256(lower, sign);
  __m256i first = _mm256_maddubs_epi16(row_weights, _mm256_unpacklo_epi8(upper, lower));
  __m256i second = _mm256_maddubs_epi16(row_weights, _mm256_unpackhi_epi8(upper, lower));
  first = _mm256_srai_epi16(_mm256_add_epi16(first, half), 7);
  second = _mm256_srai_epi16(_mm256_add_epi16(second, half), 7);
  return _mm256_packs_epi16(first, second);
}

// Loads 16 bytes at each of two places.
__attribute__((target("avx2"))) static inline __m256i two_places(const uint8_t *first, const uint8_t *second) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)first)), _mm_loadu_si128((const __m128i *)second), 1);
}

// Sixteen columns of the result; `a` makes the first eight, `b` the others.
__attribute__((target("avx2"))) static inline __m128i sixteen(
    const uint8_t *upper, const uint8_t *lower, const RecbotColumns *a, const RecbotColumns *b, __m256i row_weights) {
  const __m256i sign = _mm256_set1_epi8((char)0x80);
  const __m256i half = _mm256_set1_epi16(64);
  __m256i pixels = two_rows(
      two_places(upper + a->base, upper + b->base), two_places(lower + a->base, lower + b->base), row_weights, sign,
      half);
  pixels = _mm256_shuffle_epi8(pixels, two_places(a->offsets, b->offsets));
  pixels = _mm256_maddubs_epi16(two_places(a->weights, b->weights), pixels);
  pixels = _mm256_srai_epi16(_mm256_add_epi16(pixels, half), 7);
  pixels = _mm256_xor_si256(_mm256_packs_epi16(pixels, pixels), sign);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(pixels, 0x08));
}

__attribute__((target("avx2"))) void recbot_scale_bilinear(
    const uint8_t *source, ptrdiff_t source_stride, int32_t source_height, uint8_t *target, ptrdiff_t target_stride,
    int32_t target_width, int32_t target_height, const RecbotColumns *columns) {
  // Rows in 1/65536: the middle of a row of the result lies at the same share of the height as in the source.
  const int64_t step = ((int64_t)source_height << 16) / target_height;
  int64_t position = step / 2 - 32768;
  for (int32_t row = 0; row < target_height; row++, position += step) {
    int64_t place = position < 0 ? 0 : position;
    int64_t index = place >> 16;
    if (index > source_height - 1) index = source_height - 1;
    const uint8_t *upper = source + index * source_stride;
    const uint8_t *lower = index + 1 < source_height ? upper + source_stride : upper;
    int weight = (int)((place & 0xffff) + 256) >> 9;
    const __m256i row_weights = _mm256_set1_epi16((short)(weight << 8 | (128 - weight)));
    uint8_t *line = target + row * target_stride;
    const RecbotColumns *eight = columns;
    int32_t column = 0;
    for (; column + 16 <= target_width; column += 16, eight += 2) {
      _mm_storeu_si128((__m128i *)(line + column), sixteen(upper, lower, eight, eight + 1, row_weights));
    }
    if (column < target_width) {
      // Of known sizes: copying a number of bytes that is only known here takes longer than making them.
      const int32_t left = target_width - column;
      __m128i last = sixteen(upper, lower, eight, left > 8 ? eight + 1 : eight, row_weights);
      uint8_t *end = line + column;
      if (left & 8) {
        _mm_storeu_si64(end, last);
        last = _mm_srli_si128(last, 8);
        end += 8;
      }
      if (left & 4) {
        _mm_storeu_si32(end, last);
        last = _mm_srli_si128(last, 4);
        end += 4;
      }
      if (left & 2) {
        _mm_storeu_si16(end, last);
        last = _mm_srli_si128(last, 2);
        end += 2;
      }
      if (left & 1) *end = (uint8_t)_mm_cvtsi128_si32(last);
    }
  }
}

#else

bool recbot_has_bilinear(void) { return false; }

void recbot_scale_bilinear(
    const uint8_t *source, ptrdiff_t source_stride, int32_t source_height, uint8_t *target, ptrdiff_t target_stride,
    int32_t target_width, int32_t target_height, const RecbotColumns *columns) {
  (void)source, (void)source_stride, (void)source_height, (void)target, (void)target_stride, (void)target_width;
  (void)target_height, (void)columns;
}

#endif
