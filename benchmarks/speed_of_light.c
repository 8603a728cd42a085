/* The speed of light: whole runs of four FTRL policies in C, as bare as they can be.
 *
 * No environment but Bernoulli losses, no regret, no checks, no general solver, one number generator inline.
 * Four arms at a time by gcc's vector types; arrays are padded to fours with arms that are FAR away: so far that they
 * do not count, and so near that no power of 1/L underflows, which would be slow. Each function
 * plays T rounds and leaves the cumulative losses L, the rates (0 where there are none per arm) and the
 * distribution p of round T + 1 for the comparison with 50-digit arithmetic.
 *
 * gcc -O3 -march=native -fno-math-errno -shared -fPIC speed_of_light.c -o speed_of_light.so -lm
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define W 4
#define FAR 1e70
typedef double vec __attribute__((vector_size(8 * W), aligned(8)));
typedef int64_t ivec __attribute__((vector_size(8 * W), aligned(8)));
typedef uint64_t uvec __attribute__((vector_size(8 * W), aligned(8)));

static inline double total(vec v) { return (v[0] + v[2]) + (v[1] + v[3]); }
static inline vec all(double x) { return (vec){x, x, x, x}; }
static inline vec choose(ivec which, vec a, vec b) { return (vec)((which & (ivec)a) | (~which & (ivec)b)); }
static inline vec larger(vec a, vec b) { return choose(a > b, a, b); }
static inline double largest(vec v) {
    double m = v[0];
    for (int i = 1; i < W; i++) m = v[i] > m ? v[i] : m;
    return m;
}
static inline vec roots(vec v) {
    vec r;
    for (int i = 0; i < W; i++) r[i] = sqrt(v[i]);
    return r;
}

/* log and exp of four numbers, normal and positive, to about 1e-16: no branch, no table */
static inline vec logs(vec x) {
    const double magic = 6755399441055744.0; /* its low bits hold what is added to it */
    ivec bits = (ivec)x, exponent = (ivec)((uvec)bits >> 52) - 1023;
    vec m = (vec)((bits & 0x000fffffffffffffLL) | 0x3ff0000000000000LL);
    ivec high = m > 1.4142135623730951;
    m = choose(high, m * 0.5, m);
    exponent -= high; /* true is −1 */
    vec e = (vec)(exponent + (ivec)all(magic));
    e -= magic;
    vec f = (m - 1.0) / (m + 1.0), g = f * f;
    vec s = all(1.0 / 23);
    for (int k = 21; k >= 1; k -= 2) s = s * g + 1.0 / k;
    return e * 0.6931471805599453 + 2.0 * f * s;
}
static inline vec exps(vec x) {
    const double magic = 6755399441055744.0;
    vec shifted = x * 1.4426950408889634 + magic;
    __asm__("" : "+x"(shifted)); /* or -ffast-math folds the rounding away */
    vec n = shifted - magic;
    vec r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10, s = all(1.0 / 6227020800.0);
    static const double inverse[13] = {1.0, 1.0, 0.5, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
        1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
    for (int k = 12; k >= 0; k--) s = s * r + inverse[k];
    return (vec)((ivec)s + ((ivec)shifted << 52));
}

static uint64_t state[2];
static inline double uniform(void) { /* xoroshiro128+ */
    uint64_t a = state[0], b = state[1], sum = a + b;
    b ^= a;
    state[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
    state[1] = (b << 37) | (b >> 27);
    return (sum >> 11) * 0x1p-53;
}
static void seed(uint64_t s) { state[0] = 0x9e3779b97f4a7c15ULL * (s + 1), state[1] = 0xbf58476d1ce4e5b9ULL + s; }

static double *array(long n, double value) {
    double *a = aligned_alloc(64, 8 * n);
    for (long i = 0; i < n; i++) a[i] = value;
    return a;
}
#define AT(a, i) (*(vec *)((a) + (i)))

/* the arm at the quantile target of p, fours first */
static inline long find(const double *p, long n, double target) {
    double reached = 0;
    long i = 0;
    for (; i + W < n; i += W) {
        double more = reached + total(AT(p, i));
        if (more > target) break;
        reached = more;
    }
    long end = i + W < n ? i + W : n, last = i;
    for (; i < end; i++)
        if (p[i] > 0) {
            reached += p[i], last = i;
            if (reached > target) break;
        }
    return last;
}

static void copy_out(const double *from, double *to, long K) { memcpy(to, from, 8 * K); }

/* Tsallis-INF: p = g²r², r = 1/(L − x), g = √t. Moments are carried over and corrected for the one arm. */
void tsallis_inf(long K, long T, const double *means, uint64_t s, double *L_out, double *rates, double *p_out) {
    long n = (K + W - 1) / W * W;
    double *L = array(n, FAR), *p = array(n, 0);
    for (long i = 0; i < K; i++) L[i] = 0;
    seed(s);
    double x = -sqrt((double)K), y = -x, S2 = K / (y * y), S3 = S2 / y, S4 = S3 / y;
    for (long t = 1; t <= T + 1; t++) {
        double g = sqrt((double)t), dx, sum;
        for (int pass = 0;; pass++) {
            double d = (1 - g * sqrt(S2)) * S2 / S3;
            dx = d + 1.5 * (S3 / S2 - S4 / S3) * d * d;
            if (pass && fabs(dx) < 2e-5 * g) break;
            x += dx;
            vec a2 = all(0), a3 = all(0), a4 = all(0);
            for (long i = 0; i < n; i += W) {
                vec r = 1.0 / (AT(L, i) - x), q = r * r;
                AT(p, i) = r, a2 += q, a3 += q * r, a4 += q * q;
            }
            S2 = total(a2), S3 = total(a3), S4 = total(a4);
        }
        x += dx;
        vec sums = all(0);
        for (long i = 0; i < n; i += W) {
            vec r = AT(p, i), u = r * dx;
            r = r * g * (1.0 + u + u * u);
            AT(p, i) = r * r, sums += r * r;
        }
        sum = total(sums);
        if (t > T) break;
        S2 += dx * (2 * S3 + 3 * S4 * dx), S3 += 3 * S4 * dx;
        long a = find(p, K, uniform() * sum);
        if (uniform() < means[a]) {
            double r = 1 / (L[a] - x);
            L[a] += 1 / p[a];
            double q = 1 / (L[a] - x);
            S2 += q * q - r * r, S3 += q * q * q - r * r * r, S4 += q * q * q * q - r * r * r * r;
        }
    }
    copy_out(L, L_out, K), copy_out(p, p_out, K);
    for (long i = 0; i < K; i++) rates[i] = sqrt((double)(T + 1));
    free(L), free(p);
}

/* Log-barrier: p = b r, b = C + θ√(1 + Σ max(p, 1/T)). One pass brings rates, r and moments up to date. */
void log_barrier(long K, long T, double C, const double *means, uint64_t s, double *L_out, double *rates,
                 double *p_out) {
    long n = (K + W - 1) / W * W;
    double *L = array(n, FAR), *p = array(n, 0), *r = array(n, 0), *b = array(n, 0), *sums = array(n, 0);
    double theta = 1 / sqrt(fmax(1, log((double)T))), clip = 1.0 / T, b0 = C + theta;
    for (long i = 0; i < K; i++) L[i] = 0, b[i] = b0;
    seed(s);
    double x = -b0 * K, y = -x, S1 = 1, S2 = 1 / y, S3 = S2 / y;
    for (long t = 1; t <= T + 1; t++) {
        double dx, sum;
        if (t > 1) /* the rates of this round, from the p that was played */
            for (long i = 0; i < n; i += W) {
                AT(sums, i) += larger(AT(p, i), all(clip));
                AT(b, i) = C + theta * roots(1.0 + AT(sums, i));
            }
        for (int pass = 0;; pass++) {
            double d = S1 * (1 - S1) / S2;
            dx = d + (S2 / S1 - S3 / S2) * d * d;
            if (pass && fabs(dx) * S2 < 2e-5 * S1) break;
            x += dx;
            vec a1 = all(0), a2 = all(0), a3 = all(0);
            for (long i = 0; i < n; i += W) {
                vec q = 1.0 / (AT(L, i) - x), v = AT(b, i) * q;
                AT(r, i) = q, a1 += v, a2 += v * q, a3 += v * q * q;
            }
            S1 = total(a1), S2 = total(a2), S3 = total(a3);
        }
        x += dx;
        vec all_of = all(0);
        for (long i = 0; i < n; i += W) {
            vec q = AT(r, i), u = q * dx;
            AT(p, i) = AT(b, i) * q * (1.0 + u + u * u), all_of += AT(p, i);
        }
        sum = total(all_of);
        if (t > T) break;
        S1 = sum, S2 += 2 * S3 * dx;
        long a = find(p, K, uniform() * sum);
        if (uniform() < means[a]) {
            double q = 1 / (L[a] - x), v;
            L[a] += 1 / p[a], v = 1 / (L[a] - x);
            S1 += b[a] * (v - q), S2 += b[a] * (v * v - q * q), S3 += b[a] * (v * v * v - q * q * q);
        }
    }
    for (long i = 0; i < K; i++) rates[i] = b[i] - C;
    copy_out(L, L_out, K), copy_out(p, p_out, K);
    free(L), free(p), free(r), free(b), free(sums);
}

/* β-Tsallis or Shannon entropy (β = 1) with an extra log-barrier, in w = 1/p:
 *   y = L − λ = C w + γ' w^{1−β},  γ' = γβ/(1−β);    or    y = C w + γ log w.
 * Newton for all w and λ at once, from the last round. */
void with_barrier(long K, long T, double beta, double C, const double *means, uint64_t s, double *L_out,
                  double *rates, double *p_out) {
    int shannon = beta == 1;
    long n = (K + W - 1) / W * W;
    double *L = array(n, 0), *w = array(n, K), *g = array(n, 1), *sums = array(n, 0), *p = array(n, 0);
    double *mask = array(n, 0), *power = array(n, 0);
    double theta = shannon ? 1 / sqrt(fmax(1, log((double)T))) : sqrt((1 - beta) / beta);
    double factor = shannon ? 1 : beta / (1 - beta), c = 1 - beta, alpha = 1 - 2 * beta;
    for (long i = 0; i < K; i++) mask[i] = 1, g[i] = theta;
    seed(s);
    double lambda = -(C * K + theta * factor * (shannon ? log((double)K) : pow(K, c)));
    for (long t = 1; t <= T + 1; t++) {
        if (t > 1)
            for (long i = 0; i < n; i += W) {
                vec v = -larger(all(-(double)T), -AT(w, i)); /* min(w, T): max(p, 1/T)^−1 */
                AT(sums, i) += shannon ? v : exps(-alpha * logs(v));
                AT(g, i) = theta * roots(1.0 + AT(sums, i));
            }
        for (int pass = 0; pass < 50; pass++) {
            vec a = all(0), d = all(0), q = all(0), worst = all(0);
            for (long i = 0; i < n; i += W) {
                vec v = AT(w, i), l = logs(v), h = shannon ? l : exps(c * l), gamma = AT(g, i) * factor;
                vec e = AT(L, i) - lambda - C * v - gamma * h;
                vec D = C + gamma * (shannon ? 1.0 / v : c * h / v), prob = AT(mask, i) / v;
                AT(p, i) = e / D, AT(power, i) = 1.0 / D;
                q += prob, a += prob * prob * e / D, d += prob * prob / D;
            }
            double dx = (total(a) - (total(q) - 1)) / total(d);
            lambda += dx;
            for (long i = 0; i < n; i += W) {
                vec step = AT(p, i) - dx * AT(power, i), v = AT(w, i);
                vec size = choose(AT(mask, i) > 0.5, larger(step, -step) / v, all(0));
                worst = larger(worst, size);
                AT(w, i) = choose(AT(mask, i) > 0.5, larger(v + step, 0.25 * v), v);
            }
            if (largest(worst) < 1e-7) break; /* the next step would be of the size of its square */
        }
        vec sum = all(0);
        for (long i = 0; i < n; i += W) AT(p, i) = AT(mask, i) / AT(w, i), sum += AT(p, i);
        if (t > T) break;
        long a = find(p, K, uniform() * total(sum));
        if (uniform() < means[a]) L[a] += 1 / p[a];
    }
    copy_out(L, L_out, K), copy_out(p, p_out, K), copy_out(g, rates, K);
    free(L), free(w), free(g), free(sums), free(p), free(mask), free(power);
}
