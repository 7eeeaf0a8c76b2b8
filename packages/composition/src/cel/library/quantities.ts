import { tryParseQuantity } from "@xfn/units";
import { QUANTITY, type Type } from "../values/type.ts";
import { Extension, Failure, int, type Value } from "../values/value.ts";
import type { Define } from "./define.ts";

const NANOS = 1_000_000_000n;

/** The largest quantity. */
const MAX_NANOS: bigint = (2n ** 63n - 1n) * NANOS;

/** A Kubernetes quantity in an expression. */
class Quantity extends Extension {
  readonly type: Type = QUANTITY;
  readonly nanos: bigint;
  /** The power of ten of Kubernetes' integer for it. Undefined if it needs a decimal. */
  readonly scale: number | undefined;
  override readonly isRightOperand: boolean;

  constructor(nanos: bigint, scale: number | undefined, isRightOperand = true) {
    super();
    this.nanos = nanos;
    this.scale = scale;
    this.isRightOperand = isRightOperand;
  }

  equals(other: Extension): boolean {
    return other instanceof Quantity && this.nanos === other.nanos;
  }
}

/** The quantity library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library */
export function defineQuantities(define: Define): void {
  define("isQuantity", "(string) bool", (text: string) => parsed(text) !== undefined);
  define("quantity", "(string) Quantity", (text: string) => parsed(text) ?? new Failure("not a quantity"));
  // Kubernetes declares it as a function, although its documentation calls it on a quantity.
  define("sign", "(Quantity) int", ({ nanos }: Quantity) => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n));
  define("isInteger", "Quantity.() bool", (value: Quantity) => !(integerOf(value) instanceof Failure));
  define("asInteger", "Quantity.() int", integerOf);
  define("asApproximateFloat", "Quantity.() double", ({ nanos }: Quantity) => Number(nanos) / Number(NANOS));
  define("isGreaterThan", "Quantity.(Quantity) bool", (a: Quantity, b: Quantity) => a.nanos > b.nanos);
  define("isLessThan", "Quantity.(Quantity) bool", (a: Quantity, b: Quantity) => a.nanos < b.nanos);
  define("compareTo", "Quantity.(Quantity) int", (a: Quantity, b: Quantity) =>
    a.nanos > b.nanos ? 1n : a.nanos < b.nanos ? -1n : 0n,
  );
  define("add", "Quantity.(Quantity) Quantity", (a: Quantity, b: Quantity) => plus(a, b));
  define("add", "Quantity.(int) Quantity", (a: Quantity, b: bigint) => plus(a, whole(b)));
  define("sub", "Quantity.(Quantity) Quantity", (a: Quantity, b: Quantity) => plus(a, minus(b)));
  define("sub", "Quantity.(int) Quantity", (a: Quantity, b: bigint) => plus(a, whole(-b)));
}

function parsed(text: string): Quantity | undefined {
  const quantity = tryParseQuantity(text);
  if (quantity === undefined) return undefined;
  const { nanos } = quantity;
  const isCapped = nanos >= MAX_NANOS || nanos <= -MAX_NANOS;
  return new Quantity(nanos, isCapped ? undefined : scaleOf(text));
}

const SUFFIXES = "n u m  k M G T P E".split(" ");
const BINARY_SUFFIXES = "Ki Mi Gi Ti Pi Ei".split(" ");

/** The scale of a text: ParseQuantity of k8s.io/apimachinery. */
function scaleOf(text: string): number | undefined {
  const [, digits = "", fraction = "", suffix = ""] = /^[+-]?0*(\d*)(?:\.(\d*))?(.*)$/.exec(text) ?? [];
  const length = Math.max(digits.length, 1);
  const power = BINARY_SUFFIXES.indexOf(suffix) + 1;
  if (power > 0) return fraction === "" && 14 - length - 3 * power >= 0 ? 0 : undefined;
  const exponent = /^[eE]\S/.test(suffix) ? Number(suffix.slice(1)) : 3 * (SUFFIXES.indexOf(suffix) - 3);
  const scale = exponent - fraction.length;
  return length + fraction.length <= 18 && scale >= -9 ? scale : undefined;
}

function whole(value: bigint): Quantity {
  return new Quantity(value * NANOS, 0);
}

function minus({ nanos, scale }: Quantity): Quantity {
  return new Quantity(-nanos, scale);
}

/** Kubernetes returns a pointer, and its `==` fails for a pointer on the right: pkg/cel/quantity.go, Equal. */
function plus(a: Quantity, b: Quantity): Quantity {
  const nanos = a.nanos + b.nanos;
  if (a.scale === undefined || b.scale === undefined) return new Quantity(nanos, undefined, false);
  const scale = b.nanos === 0n ? a.scale : a.nanos === 0n ? b.scale : Math.min(a.scale, b.scale);
  const fits = !(int(scaled(nanos, scale)) instanceof Failure);
  return new Quantity(nanos, fits ? scale : undefined, false);
}

/** A scale is -9 or more. */
function scaled(nanos: bigint, scale: number): bigint {
  return nanos / 10n ** BigInt(scale + 9);
}

/** Kubernetes converts only quantities without a fraction in their text and in those of their summands. */
function integerOf({ nanos, scale }: Quantity): Value {
  if (scale === undefined || scale < 0) return new Failure("cannot convert value to integer");
  return nanos / NANOS;
}
