// A vector with inline storage for plain values: it never allocates, and copies only what it holds.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include <restride/error.hpp>

namespace restride::detail {

template <class T, std::size_t N>
class FixedVector {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr FixedVector() noexcept : storage_{} {}
  constexpr FixedVector(std::initializer_list<T> values) : storage_{} {
    for (const T& v : values) push_back(v);
  }
  constexpr FixedVector(const FixedVector& o) noexcept : storage_{} { assign(o); }
  constexpr FixedVector& operator=(const FixedVector& o) noexcept {
    if (this != &o) assign(o);
    return *this;
  }

  static constexpr std::size_t capacity() noexcept { return N; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr bool full() const noexcept { return size_ == N; }
  constexpr T* data() noexcept { return storage_.values; }
  constexpr const T* data() const noexcept { return storage_.values; }
  constexpr T* begin() noexcept { return data(); }
  constexpr T* end() noexcept { return data() + size_; }
  constexpr const T* begin() const noexcept { return data(); }
  constexpr const T* end() const noexcept { return data() + size_; }
  constexpr T& operator[](std::size_t i) noexcept { return storage_.values[i]; }
  constexpr const T& operator[](std::size_t i) const noexcept { return storage_.values[i]; }
  constexpr T& front() noexcept { return storage_.values[0]; }
  constexpr const T& front() const noexcept { return storage_.values[0]; }
  constexpr T& back() noexcept { return storage_.values[size_ - 1]; }
  constexpr const T& back() const noexcept { return storage_.values[size_ - 1]; }

  /// Appends. Errors, here and in what else makes it longer: InternalError past the capacity. Users check `full()`
  /// or the rank where a caller decides how much there is.
  constexpr void push_back(const T& v) {
    require(size_ < N);
    storage_.values[size_++] = v;
  }
  constexpr void clear() noexcept { size_ = 0; }
  constexpr void resize(std::size_t n, const T& fill = T{}) {
    require(n <= N);
    for (std::size_t i = size_; i < n; ++i) storage_.values[i] = fill;
    size_ = n;
  }
  constexpr void insert(std::size_t at, const T& v) {
    require(size_ < N);
    for (std::size_t i = size_; i > at; --i) storage_.values[i] = storage_.values[i - 1];
    storage_.values[at] = v;
    ++size_;
  }
  constexpr void erase(std::size_t at) noexcept {
    for (std::size_t i = at + 1; i < size_; ++i) storage_.values[i - 1] = storage_.values[i];
    --size_;
  }
  constexpr void reverse() noexcept {
    for (std::size_t i = 0, j = size_; i + 1 < j; ++i, --j) {
      T t = storage_.values[i];
      storage_.values[i] = storage_.values[j - 1];
      storage_.values[j - 1] = t;
    }
  }
  friend constexpr bool operator==(const FixedVector& a, const FixedVector& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  static constexpr void require(bool fits) {
    if (!fits) throw InternalError("a list of fixed capacity is full; please report this");
  }
  constexpr void assign(const FixedVector& o) noexcept {
    for (std::size_t i = 0; i < o.size_; ++i) storage_.values[i] = o.storage_.values[i];
    size_ = o.size_;
  }

  // A union leaves the unused tail uninitialised, so constructing one costs nothing. A constant must have a member;
  // else none is set, because GCC then clears all of the storage first.
  union Storage {
    constexpr Storage() noexcept {
      if (std::is_constant_evaluated()) none = 0;
    }
    char none;
    T values[N];
  };
  Storage storage_;
  std::size_t size_ = 0;
};

}  // namespace restride::detail
