{-# OPTIONS --safe --without-K #-}

-- Certificates of nonnegativity, checked by computation, with the proof that the check is enough.
--
-- A certificate is an identity between polynomials with whole coefficients,
--
--   N * target  =  sum of (sum of w * q * q) * (product of hypotheses g >= 0)  +  sum of c * (hypothesis h = 0),
--
-- with N > 0 and whole numbers w.  `check` expands both sides; the theorem `sound` says that in every ordered
-- commutative ring, at every point where the hypotheses hold, target >= 0 if `check` answers true.  Nothing is
-- postulated (--safe) and nothing imported.

module Sos where

------------------------------------------------------------------------------------------------- logic, numbers

data _≡_ {A : Set} (x : A) : A → Set where
  refl : x ≡ x
{-# BUILTIN EQUALITY _≡_ #-}
infix 4 _≡_

sym : {A : Set} {x y : A} → x ≡ y → y ≡ x
sym refl = refl

infixr 5 _∙_
_∙_ : {A : Set} {x y z : A} → x ≡ y → y ≡ z → x ≡ z
refl ∙ e = e

cong : {A B : Set} (f : A → B) {x y : A} → x ≡ y → f x ≡ f y
cong f refl = refl

cong₂ : {A B C : Set} (f : A → B → C) {x y : A} {u v : B} → x ≡ y → u ≡ v → f x u ≡ f y v
cong₂ f refl refl = refl

subst : {A : Set} (P : A → Set) {x y : A} → x ≡ y → P x → P y
subst P refl p = p

data Bool : Set where
  false true : Bool
{-# BUILTIN BOOL  Bool  #-}
{-# BUILTIN FALSE false #-}
{-# BUILTIN TRUE  true  #-}

and : Bool → Bool → Bool
and true  b = b
and false _ = false

and-left : (a b : Bool) → and a b ≡ true → a ≡ true
and-left true b e = refl

and-right : (a b : Bool) → and a b ≡ true → b ≡ true
and-right true b e = e

data Nat : Set where
  zero : Nat
  suc  : Nat → Nat
{-# BUILTIN NATURAL Nat #-}

infixl 6 _+_
_+_ : Nat → Nat → Nat
zero  + m = m
suc n + m = suc (n + m)
{-# BUILTIN NATPLUS _+_ #-}

infixl 7 _*_
_*_ : Nat → Nat → Nat
zero  * m = zero
suc n * m = m + n * m
{-# BUILTIN NATTIMES _*_ #-}

_==_ : Nat → Nat → Bool
zero  == zero  = true
suc n == suc m = n == m
_     == _     = false
{-# BUILTIN NATEQUALS _==_ #-}

_<_ : Nat → Nat → Bool
_     < zero  = false
zero  < suc _ = true
suc n < suc m = n < m
{-# BUILTIN NATLESS _<_ #-}

==-sound : (n m : Nat) → (n == m) ≡ true → n ≡ m
==-sound zero    zero    e = refl
==-sound (suc n) (suc m) e = cong suc (==-sound n m e)

infixr 5 _∷_
data List (A : Set) : Set where
  []  : List A
  _∷_ : A → List A → List A
{-# BUILTIN LIST List #-}

infixr 4 _,_
data Pair (A B : Set) : Set where
  _,_ : A → B → Pair A B

------------------------------------------------------------------------------------------------- what is stated

-- Polynomials as they are written.
infixl 6 _⊞_
infixl 7 _⊠_
data Expr : Set where
  con     : Nat → Expr
  var     : Nat → Expr
  _⊞_ _⊠_ : Expr → Expr → Expr
  neg     : Expr → Expr

-- 1 + ... + 1, n times.
whole : {A : Set} → (A → A → A) → A → A → Nat → A
whole plus nought one zero    = nought
whole plus nought one (suc n) = plus one (whole plus nought one n)

-- Ordered commutative rings in which n x >= 0 gives x >= 0 for n = 1, 2, ...: the real numbers are one.
record OrderedRing : Set₁ where
  infixl 6 _⊕_
  infixl 7 _⊗_
  field
    R        : Set
    _⊕_ _⊗_  : R → R → R
    ⊖_       : R → R
    𝟘 𝟙      : R
    ⊕-assoc  : (x y z : R) → (x ⊕ y) ⊕ z ≡ x ⊕ (y ⊕ z)
    ⊕-comm   : (x y : R) → x ⊕ y ≡ y ⊕ x
    ⊕-id     : (x : R) → 𝟘 ⊕ x ≡ x
    ⊕-inv    : (x : R) → x ⊕ (⊖ x) ≡ 𝟘
    ⊗-assoc  : (x y z : R) → (x ⊗ y) ⊗ z ≡ x ⊗ (y ⊗ z)
    ⊗-comm   : (x y : R) → x ⊗ y ≡ y ⊗ x
    ⊗-id     : (x : R) → 𝟙 ⊗ x ≡ x
    distrib  : (x y z : R) → x ⊗ (y ⊕ z) ≡ (x ⊗ y) ⊕ (x ⊗ z)
    _≥0      : R → Set
    ≥0-sum   : (x y : R) → x ≥0 → y ≥0 → (x ⊕ y) ≥0
    ≥0-prod  : (x y : R) → x ≥0 → y ≥0 → (x ⊗ y) ≥0
    ≥0-sq    : (x : R) → (x ⊗ x) ≥0
    ≥0-div   : (n : Nat) (x : R) → (whole _⊕_ 𝟘 𝟙 (suc n) ⊗ x) ≥0 → x ≥0
  ⟨_⟩ : Nat → R
  ⟨ n ⟩ = whole _⊕_ 𝟘 𝟙 n

module Value (O : OrderedRing) where
  open OrderedRing O

  eval : (Nat → R) → Expr → R
  eval ρ (con n) = ⟨ n ⟩
  eval ρ (var i) = ρ i
  eval ρ (a ⊞ b) = eval ρ a ⊕ eval ρ b
  eval ρ (a ⊠ b) = eval ρ a ⊗ eval ρ b
  eval ρ (neg a) = ⊖ (eval ρ a)

  data AllNonnegative (ρ : Nat → R) : List Expr → Set where
    none : AllNonnegative ρ []
    _and_ : {g : Expr} {gs : List Expr} → eval ρ g ≥0 → AllNonnegative ρ gs → AllNonnegative ρ (g ∷ gs)

  data AllZero (ρ : Nat → R) : List Expr → Set where
    none : AllZero ρ []
    _and_ : {h : Expr} {hs : List Expr} → eval ρ h ≡ 𝟘 → AllZero ρ hs → AllZero ρ (h ∷ hs)

------------------------------------------------------------------------------------------------- normal forms

-- Exponents of the variables 0, 1, 2, ...; a coefficient is a difference of two numbers.
Mono : Set
Mono = List Nat

data Term : Set where
  term : (plus minus : Nat) → Mono → Term

Poly : Set
Poly = List Term

mono : Term → Mono
mono (term p n m) = m

mulMono : Mono → Mono → Mono
mulMono []       n        = n
mulMono (a ∷ as) []       = a ∷ as
mulMono (a ∷ as) (b ∷ bs) = (a + b) ∷ mulMono as bs

unit : Nat → Mono
unit zero    = 1 ∷ []
unit (suc i) = 0 ∷ unit i

same : Mono → Mono → Bool
same []       []       = true
same (a ∷ as) (b ∷ bs) = and (a == b) (same as bs)
same _        _        = false

same-sound : (m n : Mono) → same m n ≡ true → m ≡ n
same-sound []       []       e = refl
same-sound (a ∷ as) (b ∷ bs) e =
  cong₂ _∷_ (==-sound a b (and-left (a == b) (same as bs) e)) (same-sound as bs (and-right (a == b) (same as bs) e))

-- Any order would do: it decides how fast, not whether, equal monomials meet.
less : Mono → Mono → Bool
less []       []       = false
less []       (_ ∷ _)  = true
less (_ ∷ _)  []       = false
less (a ∷ as) (b ∷ bs) = lexicographic (a == b) (less as bs) (a < b)
  where
  lexicographic : Bool → Bool → Bool → Bool
  lexicographic true  rest first = rest
  lexicographic false rest first = first

add : Term → Term → Term
add (term p n m) (term q k _) = term (p + q) (n + k) m

times : Term → Term → Term
times (term p n m) (term q k l) = term (p * q + n * k) (p * k + n * q) (mulMono m l)

choose : Bool → Bool → Term → Term → Poly → Poly → Poly → Poly
choose true  _     s t both left right = add s t ∷ both
choose false true  s t both left right = s ∷ left
choose false false s t both left right = t ∷ right

merge : Poly → Poly → Poly
merge []      q       = q
merge (s ∷ p) []      = s ∷ p
merge (s ∷ p) (t ∷ q) =
  choose (same (mono s) (mono t)) (less (mono s) (mono t)) s t (merge p q) (merge p (t ∷ q)) (merge (s ∷ p) q)

scale : Term → Poly → Poly
scale t []      = []
scale t (s ∷ p) = times t s ∷ scale t p

mul : Poly → Poly → Poly
mul []      q = []
mul (t ∷ p) q = merge (scale t q) (mul p q)

flip : Poly → Poly
flip []                  = []
flip (term p n m ∷ rest) = term n p m ∷ flip rest

normal : Expr → Poly
normal (con n) = term n 0 [] ∷ []
normal (var i) = term 1 0 (unit i) ∷ []
normal (a ⊞ b) = merge (normal a) (normal b)
normal (a ⊠ b) = mul (normal a) (normal b)
normal (neg a) = flip (normal a)

isZero : Poly → Bool
isZero []                  = true
isZero (term p n m ∷ rest) = and (p == n) (isZero rest)

------------------------------------------------------------------------------------------------- certificates

Square : Set
Square = Pair Nat Expr          -- weight, and what is squared

Summand : Set
Summand = Pair (List Square) (List Nat)  -- squares, and the numbers of the hypotheses they multiply

Cofactor : Set
Cofactor = Pair Expr Nat        -- polynomial, and the number of the equality it multiplies

nth : List Expr → Nat → Expr
nth []       _       = con 0
nth (e ∷ es) zero    = e
nth (e ∷ es) (suc k) = nth es k

squares : List Square → Expr
squares []             = con 0
squares ((w , q) ∷ qs) = con w ⊠ (q ⊠ q) ⊞ squares qs

factored : List Expr → Expr → List Nat → Expr
factored gs e []       = e
factored gs e (k ∷ ks) = factored gs (e ⊠ nth gs k) ks

summands : List Expr → List Summand → Expr
summands gs []              = con 0
summands gs ((qs , ks) ∷ s) = factored gs (squares qs) ks ⊞ summands gs s

cofactors : List Expr → List Cofactor → Expr
cofactors hs []             = con 0
cofactors hs ((c , k) ∷ cs) = c ⊠ nth hs k ⊞ cofactors hs cs

difference : List Expr → List Expr → Nat → Expr → List Summand → List Cofactor → Expr
difference gs hs N target s c = con (suc N) ⊠ target ⊞ neg (summands gs s ⊞ cofactors hs c)

-- N stands for the number N + 1, which is positive.
check : List Expr → List Expr → Nat → Expr → List Summand → List Cofactor → Bool
check gs hs N target s c = isZero (normal (difference gs hs N target s c))

------------------------------------------------------------------------------------------------- soundness

module Soundness (O : OrderedRing) where
  open OrderedRing O
  open Value O

  -- commutative rings
  ⊕-idʳ : (x : R) → x ⊕ 𝟘 ≡ x
  ⊕-idʳ x = ⊕-comm x 𝟘 ∙ ⊕-id x

  ⊗-idʳ : (x : R) → x ⊗ 𝟙 ≡ x
  ⊗-idʳ x = ⊗-comm x 𝟙 ∙ ⊗-id x

  distribʳ : (x y z : R) → (y ⊕ z) ⊗ x ≡ (y ⊗ x) ⊕ (z ⊗ x)
  distribʳ x y z = ⊗-comm (y ⊕ z) x ∙ distrib x y z ∙ cong₂ _⊕_ (⊗-comm x y) (⊗-comm x z)

  ⊕-swap : (a b c d : R) → (a ⊕ b) ⊕ (c ⊕ d) ≡ (a ⊕ c) ⊕ (b ⊕ d)
  ⊕-swap a b c d =
    ⊕-assoc a b (c ⊕ d) ∙ cong (a ⊕_) (sym (⊕-assoc b c d) ∙ cong (_⊕ d) (⊕-comm b c) ∙ ⊕-assoc c b d)
    ∙ sym (⊕-assoc a c (b ⊕ d))

  ⊗-swap : (a b c d : R) → (a ⊗ b) ⊗ (c ⊗ d) ≡ (a ⊗ c) ⊗ (b ⊗ d)
  ⊗-swap a b c d =
    ⊗-assoc a b (c ⊗ d) ∙ cong (a ⊗_) (sym (⊗-assoc b c d) ∙ cong (_⊗ d) (⊗-comm b c) ∙ ⊗-assoc c b d)
    ∙ sym (⊗-assoc a c (b ⊗ d))

  -- what is added to x to give 0 is - x
  inverse : (x y : R) → x ⊕ y ≡ 𝟘 → y ≡ ⊖ x
  inverse x y e =
    sym (⊕-id y) ∙ cong (_⊕ y) (sym (⊕-comm (⊖ x) x ∙ ⊕-inv x)) ∙ ⊕-assoc (⊖ x) x y ∙ cong ((⊖ x) ⊕_) e ∙ ⊕-idʳ (⊖ x)

  -- x + x = x only for 0
  idempotent : (x : R) → x ⊕ x ≡ x → x ≡ 𝟘
  idempotent x e = sym (⊕-idʳ x) ∙ cong (x ⊕_) (sym (⊕-inv x)) ∙ sym (⊕-assoc x x (⊖ x)) ∙ cong (_⊕ (⊖ x)) e ∙ ⊕-inv x

  ⊗-zero : (x : R) → x ⊗ 𝟘 ≡ 𝟘
  ⊗-zero x = idempotent (x ⊗ 𝟘) (sym (distrib x 𝟘 𝟘) ∙ cong (x ⊗_) (⊕-id 𝟘))

  zero-⊗ : (x : R) → 𝟘 ⊗ x ≡ 𝟘
  zero-⊗ x = ⊗-comm 𝟘 x ∙ ⊗-zero x

  neg-neg : (x : R) → ⊖ (⊖ x) ≡ x
  neg-neg x = sym (inverse (⊖ x) x (⊕-comm (⊖ x) x ∙ ⊕-inv x))

  neg-⊕ : (x y : R) → ⊖ (x ⊕ y) ≡ (⊖ x) ⊕ (⊖ y)
  neg-⊕ x y = sym (inverse (x ⊕ y) ((⊖ x) ⊕ (⊖ y)) (⊕-swap x y (⊖ x) (⊖ y) ∙ cong₂ _⊕_ (⊕-inv x) (⊕-inv y) ∙ ⊕-id 𝟘))

  neg-zero : ⊖ 𝟘 ≡ 𝟘
  neg-zero = sym (inverse 𝟘 𝟘 (⊕-id 𝟘))

  ⊗-neg : (x y : R) → x ⊗ (⊖ y) ≡ ⊖ (x ⊗ y)
  ⊗-neg x y = inverse (x ⊗ y) (x ⊗ (⊖ y)) (sym (distrib x y (⊖ y)) ∙ cong (x ⊗_) (⊕-inv y) ∙ ⊗-zero x)

  neg-⊗ : (x y : R) → (⊖ x) ⊗ y ≡ ⊖ (x ⊗ y)
  neg-⊗ x y = ⊗-comm (⊖ x) y ∙ ⊗-neg y x ∙ cong ⊖_ (⊗-comm y x)

  -- numbers
  nat-+ : (m n : Nat) → ⟨ m + n ⟩ ≡ ⟨ m ⟩ ⊕ ⟨ n ⟩
  nat-+ zero    n = sym (⊕-id ⟨ n ⟩)
  nat-+ (suc m) n = cong (𝟙 ⊕_) (nat-+ m n) ∙ sym (⊕-assoc 𝟙 ⟨ m ⟩ ⟨ n ⟩)

  nat-* : (m n : Nat) → ⟨ m * n ⟩ ≡ ⟨ m ⟩ ⊗ ⟨ n ⟩
  nat-* zero    n = sym (zero-⊗ ⟨ n ⟩)
  nat-* (suc m) n = nat-+ n (m * n) ∙ cong₂ _⊕_ (sym (⊗-id ⟨ n ⟩)) (nat-* m n) ∙ sym (distribʳ ⟨ n ⟩ 𝟙 ⟨ m ⟩)

  -- coefficients
  val : Nat → Nat → R
  val p n = ⟨ p ⟩ ⊕ (⊖ ⟨ n ⟩)

  val-+ : (p n q k : Nat) → val (p + q) (n + k) ≡ val p n ⊕ val q k
  val-+ p n q k =
    cong₂ _⊕_ (nat-+ p q) (cong ⊖_ (nat-+ n k) ∙ neg-⊕ ⟨ n ⟩ ⟨ k ⟩) ∙ ⊕-swap ⟨ p ⟩ ⟨ q ⟩ (⊖ ⟨ n ⟩) (⊖ ⟨ k ⟩)

  val-neg : (p n : Nat) → val n p ≡ ⊖ (val p n)
  val-neg p n =
    ⊕-comm ⟨ n ⟩ (⊖ ⟨ p ⟩) ∙ cong ((⊖ ⟨ p ⟩) ⊕_) (sym (neg-neg ⟨ n ⟩)) ∙ sym (neg-⊕ ⟨ p ⟩ (⊖ ⟨ n ⟩))

  -- (P - N) (Q - K) = (P Q + N K) - (P K + N Q)
  expand : (P N Q K : R) →
    ((P ⊗ Q) ⊕ (N ⊗ K)) ⊕ (⊖ ((P ⊗ K) ⊕ (N ⊗ Q))) ≡ (P ⊕ (⊖ N)) ⊗ (Q ⊕ (⊖ K))
  expand P N Q K = sym (
    distribʳ (Q ⊕ (⊖ K)) P (⊖ N)
    ∙ cong₂ _⊕_ (distrib P Q (⊖ K)) (distrib (⊖ N) Q (⊖ K))
    ∙ cong (((P ⊗ Q) ⊕ (P ⊗ (⊖ K))) ⊕_) (⊕-comm ((⊖ N) ⊗ Q) ((⊖ N) ⊗ (⊖ K)))
    ∙ ⊕-swap (P ⊗ Q) (P ⊗ (⊖ K)) ((⊖ N) ⊗ (⊖ K)) ((⊖ N) ⊗ Q)
    ∙ cong₂ _⊕_
        (cong ((P ⊗ Q) ⊕_) (neg-⊗ N (⊖ K) ∙ cong ⊖_ (⊗-neg N K) ∙ neg-neg (N ⊗ K)))
        (cong₂ _⊕_ (⊗-neg P K) (neg-⊗ N Q) ∙ sym (neg-⊕ (P ⊗ K) (N ⊗ Q))))

  val-* : (p n q k : Nat) → val (p * q + n * k) (p * k + n * q) ≡ val p n ⊗ val q k
  val-* p n q k =
    cong₂ _⊕_ (nat-+ (p * q) (n * k) ∙ cong₂ _⊕_ (nat-* p q) (nat-* n k))
              (cong ⊖_ (nat-+ (p * k) (n * q) ∙ cong₂ _⊕_ (nat-* p k) (nat-* n q)))
    ∙ expand ⟨ p ⟩ ⟨ n ⟩ ⟨ q ⟩ ⟨ k ⟩

  module _ (ρ : Nat → R) where

    pow : R → Nat → R
    pow x zero    = 𝟙
    pow x (suc n) = x ⊗ pow x n

    pow-+ : (x : R) (a b : Nat) → pow x (a + b) ≡ pow x a ⊗ pow x b
    pow-+ x zero    b = sym (⊗-id (pow x b))
    pow-+ x (suc a) b = cong (x ⊗_) (pow-+ x a b) ∙ sym (⊗-assoc x (pow x a) (pow x b))

    ⟦_⟧ₘ : Mono → Nat → R
    ⟦ [] ⟧ₘ     i = 𝟙
    ⟦ a ∷ as ⟧ₘ i = pow (ρ i) a ⊗ ⟦ as ⟧ₘ (suc i)

    ⟦_⟧ₜ : Term → R
    ⟦ term p n m ⟧ₜ = val p n ⊗ ⟦ m ⟧ₘ 0

    ⟦_⟧ : Poly → R
    ⟦ [] ⟧    = 𝟘
    ⟦ t ∷ p ⟧ = ⟦ t ⟧ₜ ⊕ ⟦ p ⟧

    mulMono-sound : (m n : Mono) (i : Nat) → ⟦ mulMono m n ⟧ₘ i ≡ ⟦ m ⟧ₘ i ⊗ ⟦ n ⟧ₘ i
    mulMono-sound []       n        i = sym (⊗-id (⟦ n ⟧ₘ i))
    mulMono-sound (a ∷ as) []       i = sym (⊗-idʳ _)
    mulMono-sound (a ∷ as) (b ∷ bs) i =
      cong₂ _⊗_ (pow-+ (ρ i) a b) (mulMono-sound as bs (suc i))
      ∙ ⊗-swap (pow (ρ i) a) (pow (ρ i) b) (⟦ as ⟧ₘ (suc i)) (⟦ bs ⟧ₘ (suc i))

    drop : (k i : Nat) → Nat
    drop zero    i = i
    drop (suc k) i = drop k (suc i)

    unit-sound : (k i : Nat) → ⟦ unit k ⟧ₘ i ≡ ρ (drop k i)
    unit-sound zero    i = ⊗-idʳ _ ∙ ⊗-idʳ (ρ i)
    unit-sound (suc k) i = ⊗-id _ ∙ unit-sound k (suc i)

    drop-+ : (k i : Nat) → drop k i ≡ k + i
    drop-+ zero    i = refl
    drop-+ (suc k) i = drop-+ k (suc i) ∙ shift k i
      where
      shift : (k i : Nat) → k + suc i ≡ suc (k + i)
      shift zero    i = refl
      shift (suc k) i = cong suc (shift k i)

    plus-zero : (k : Nat) → k + 0 ≡ k
    plus-zero zero    = refl
    plus-zero (suc k) = cong suc (plus-zero k)

    add-sound : (s t : Term) → mono s ≡ mono t → ⟦ add s t ⟧ₜ ≡ ⟦ s ⟧ₜ ⊕ ⟦ t ⟧ₜ
    add-sound (term p n m) (term q k .m) refl =
      cong (_⊗ ⟦ m ⟧ₘ 0) (val-+ p n q k) ∙ distribʳ (⟦ m ⟧ₘ 0) (val p n) (val q k)

    times-sound : (s t : Term) → ⟦ times s t ⟧ₜ ≡ ⟦ s ⟧ₜ ⊗ ⟦ t ⟧ₜ
    times-sound (term p n m) (term q k l) =
      cong₂ _⊗_ (val-* p n q k) (mulMono-sound m l 0) ∙ ⊗-swap (val p n) (val q k) (⟦ m ⟧ₘ 0) (⟦ l ⟧ₘ 0)

    choose-sound : (b c : Bool) (s t : Term) (p q both left right : Poly) → (b ≡ true → mono s ≡ mono t) →
      ⟦ both ⟧ ≡ ⟦ p ⟧ ⊕ ⟦ q ⟧ → ⟦ left ⟧ ≡ ⟦ p ⟧ ⊕ ⟦ t ∷ q ⟧ → ⟦ right ⟧ ≡ ⟦ s ∷ p ⟧ ⊕ ⟦ q ⟧ →
      ⟦ choose b c s t both left right ⟧ ≡ ⟦ s ∷ p ⟧ ⊕ ⟦ t ∷ q ⟧
    choose-sound true c s t p q both left right e B L G =
      cong₂ _⊕_ (add-sound s t (e refl)) B ∙ ⊕-swap ⟦ s ⟧ₜ ⟦ t ⟧ₜ ⟦ p ⟧ ⟦ q ⟧
    choose-sound false true s t p q both left right e B L G =
      cong (⟦ s ⟧ₜ ⊕_) L ∙ sym (⊕-assoc ⟦ s ⟧ₜ ⟦ p ⟧ ⟦ t ∷ q ⟧)
    choose-sound false false s t p q both left right e B L G =
      cong (⟦ t ⟧ₜ ⊕_) (G ∙ ⊕-comm ⟦ s ∷ p ⟧ ⟦ q ⟧)
      ∙ sym (⊕-assoc ⟦ t ⟧ₜ ⟦ q ⟧ ⟦ s ∷ p ⟧) ∙ ⊕-comm ⟦ t ∷ q ⟧ ⟦ s ∷ p ⟧

    merge-sound : (p q : Poly) → ⟦ merge p q ⟧ ≡ ⟦ p ⟧ ⊕ ⟦ q ⟧
    merge-sound []      q       = sym (⊕-id ⟦ q ⟧)
    merge-sound (s ∷ p) []      = sym (⊕-idʳ ⟦ s ∷ p ⟧)
    merge-sound (s ∷ p) (t ∷ q) =
      choose-sound (same (mono s) (mono t)) (less (mono s) (mono t)) s t p q
        (merge p q) (merge p (t ∷ q)) (merge (s ∷ p) q) (same-sound (mono s) (mono t))
        (merge-sound p q) (merge-sound p (t ∷ q)) (merge-sound (s ∷ p) q)

    scale-sound : (t : Term) (p : Poly) → ⟦ scale t p ⟧ ≡ ⟦ t ⟧ₜ ⊗ ⟦ p ⟧
    scale-sound t []      = sym (⊗-zero ⟦ t ⟧ₜ)
    scale-sound t (s ∷ p) =
      cong₂ _⊕_ (times-sound t s) (scale-sound t p) ∙ sym (distrib ⟦ t ⟧ₜ ⟦ s ⟧ₜ ⟦ p ⟧)

    mul-sound : (p q : Poly) → ⟦ mul p q ⟧ ≡ ⟦ p ⟧ ⊗ ⟦ q ⟧
    mul-sound []      q = sym (zero-⊗ ⟦ q ⟧)
    mul-sound (t ∷ p) q =
      merge-sound (scale t q) (mul p q) ∙ cong₂ _⊕_ (scale-sound t q) (mul-sound p q) ∙ sym (distribʳ ⟦ q ⟧ ⟦ t ⟧ₜ ⟦ p ⟧)

    flip-sound : (p : Poly) → ⟦ flip p ⟧ ≡ ⊖ ⟦ p ⟧
    flip-sound []                  = sym neg-zero
    flip-sound (term p n m ∷ rest) =
      cong₂ _⊕_ (cong (_⊗ ⟦ m ⟧ₘ 0) (val-neg p n) ∙ neg-⊗ (val p n) (⟦ m ⟧ₘ 0)) (flip-sound rest)
      ∙ sym (neg-⊕ ⟦ term p n m ⟧ₜ ⟦ rest ⟧)

    one : 𝟙 ≡ val 1 0
    one = sym (cong₂ _⊕_ (⊕-idʳ 𝟙) neg-zero ∙ ⊕-idʳ 𝟙)

    normal-sound : (e : Expr) → ⟦ normal e ⟧ ≡ eval ρ e
    normal-sound (con n) =
      ⊕-idʳ _ ∙ ⊗-idʳ (val n 0) ∙ cong (⟨ n ⟩ ⊕_) neg-zero ∙ ⊕-idʳ ⟨ n ⟩
    normal-sound (var i) =
      ⊕-idʳ _ ∙ cong₂ _⊗_ (sym one) (unit-sound i 0) ∙ ⊗-id _ ∙ cong ρ (drop-+ i 0 ∙ plus-zero i)
    normal-sound (a ⊞ b) = merge-sound (normal a) (normal b) ∙ cong₂ _⊕_ (normal-sound a) (normal-sound b)
    normal-sound (a ⊠ b) = mul-sound (normal a) (normal b) ∙ cong₂ _⊗_ (normal-sound a) (normal-sound b)
    normal-sound (neg a) = flip-sound (normal a) ∙ cong ⊖_ (normal-sound a)

    isZero-sound : (p : Poly) → isZero p ≡ true → ⟦ p ⟧ ≡ 𝟘
    isZero-sound []                  e = refl
    isZero-sound (term p n m ∷ rest) e =
      cong₂ _⊕_
        (cong (_⊗ ⟦ m ⟧ₘ 0)
           (cong (λ k → ⟨ k ⟩ ⊕ (⊖ ⟨ n ⟩)) (==-sound p n (and-left (p == n) (isZero rest) e)) ∙ ⊕-inv ⟨ n ⟩)
         ∙ zero-⊗ (⟦ m ⟧ₘ 0))
        (isZero-sound rest (and-right (p == n) (isZero rest) e))
      ∙ ⊕-id 𝟘

    -- what certificates add up is nonnegative, or zero
    zero-≥0 : 𝟘 ≥0
    zero-≥0 = subst _≥0 (⊗-zero 𝟘) (≥0-sq 𝟘)

    one-≥0 : 𝟙 ≥0
    one-≥0 = subst _≥0 (⊗-id 𝟙) (≥0-sq 𝟙)

    nat-≥0 : (n : Nat) → ⟨ n ⟩ ≥0
    nat-≥0 zero    = zero-≥0
    nat-≥0 (suc n) = ≥0-sum 𝟙 ⟨ n ⟩ one-≥0 (nat-≥0 n)

    nth-≥0 : (gs : List Expr) → AllNonnegative ρ gs → (k : Nat) → eval ρ (nth gs k) ≥0
    nth-≥0 []       none      k       = zero-≥0
    nth-≥0 (g ∷ gs) (p and _) zero    = p
    nth-≥0 (g ∷ gs) (_ and a) (suc k) = nth-≥0 gs a k

    nth-zero : (hs : List Expr) → AllZero ρ hs → (k : Nat) → eval ρ (nth hs k) ≡ 𝟘
    nth-zero []       none      k       = refl
    nth-zero (h ∷ hs) (p and _) zero    = p
    nth-zero (h ∷ hs) (_ and a) (suc k) = nth-zero hs a k

    squares-≥0 : (qs : List Square) → eval ρ (squares qs) ≥0
    squares-≥0 []             = zero-≥0
    squares-≥0 ((w , q) ∷ qs) =
      ≥0-sum _ _ (≥0-prod ⟨ w ⟩ _ (nat-≥0 w) (≥0-sq (eval ρ q))) (squares-≥0 qs)

    factored-≥0 : (gs : List Expr) → AllNonnegative ρ gs → (e : Expr) → eval ρ e ≥0 → (ks : List Nat) →
      eval ρ (factored gs e ks) ≥0
    factored-≥0 gs a e p []       = p
    factored-≥0 gs a e p (k ∷ ks) = factored-≥0 gs a (e ⊠ nth gs k) (≥0-prod _ _ p (nth-≥0 gs a k)) ks

    summands-≥0 : (gs : List Expr) → AllNonnegative ρ gs → (s : List Summand) → eval ρ (summands gs s) ≥0
    summands-≥0 gs a []              = zero-≥0
    summands-≥0 gs a ((qs , ks) ∷ s) =
      ≥0-sum _ _ (factored-≥0 gs a (squares qs) (squares-≥0 qs) ks) (summands-≥0 gs a s)

    cofactors-zero : (hs : List Expr) → AllZero ρ hs → (c : List Cofactor) → eval ρ (cofactors hs c) ≡ 𝟘
    cofactors-zero hs a []             = refl
    cofactors-zero hs a ((c , k) ∷ cs) =
      cong₂ _⊕_ (cong (eval ρ c ⊗_) (nth-zero hs a k) ∙ ⊗-zero (eval ρ c)) (cofactors-zero hs a cs) ∙ ⊕-id 𝟘

    sound : (gs hs : List Expr) (N : Nat) (target : Expr) (s : List Summand) (c : List Cofactor) →
      check gs hs N target s c ≡ true → AllNonnegative ρ gs → AllZero ρ hs → eval ρ target ≥0
    sound gs hs N target s c valid g h =
      ≥0-div N (eval ρ target) (subst _≥0 (sym equal) (subst _≥0 (sym ends) (summands-≥0 gs g s)))
      where
      total : Expr
      total = summands gs s ⊞ cofactors hs c
      vanishes : (⟨ suc N ⟩ ⊗ eval ρ target) ⊕ (⊖ (eval ρ total)) ≡ 𝟘
      vanishes = sym (normal-sound (difference gs hs N target s c)) ∙ isZero-sound (normal (difference gs hs N target s c)) valid
      equal : ⟨ suc N ⟩ ⊗ eval ρ target ≡ eval ρ total
      equal = sym (neg-neg _) ∙ cong ⊖_ (sym (inverse _ _ vanishes)) ∙ neg-neg (eval ρ total)
      ends : eval ρ total ≡ eval ρ (summands gs s)
      ends = cong (eval ρ (summands gs s) ⊕_) (cofactors-zero hs h c) ∙ ⊕-idʳ _
