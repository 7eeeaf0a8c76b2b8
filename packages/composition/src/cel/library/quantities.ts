import { tryParseQuantity } from "@xfn/units";
import { QUANTITY, type Type } from "../values/type.ts";
import { Extension, Failure, int, type Value } from "../values/value.ts";
import type { Define } from "./define.ts";

const NANOS = 1_000_000_000n;

/** A Kubernetes quantity in an expression. */
class Quantity extends Extension {
  readonly type: Type = QUANTITY;
  readonly nanos: bigint;
  override readonly isRightOperand: boolean;

  constructor(nanos: bigint, isRightOperand = true) {
    super();
    this.nanos = nanos;
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
  define("isInteger", "Quantity.() bool", ({ nanos }: Quantity) => !(integerOf(nanos) instanceof Failure));
  define("asInteger", "Quantity.() int", ({ nanos }: Quantity) => integerOf(nanos));
  define("asApproximateFloat", "Quantity.() double", ({ nanos }: Quantity) => Number(nanos) / Number(NANOS));
  define("isGreaterThan", "Quantity.(Quantity) bool", (a: Quantity, b: Quantity) => a.nanos > b.nanos);
  define("isLessThan", "Quantity.(Quantity) bool", (a: Quantity, b: Quantity) => a.nanos < b.nanos);
  define("compareTo", "Quantity.(Quantity) int", (a: Quantity, b: Quantity) =>
    a.nanos > b.nanos ? 1n : a.nanos < b.nanos ? -1n : 0n,
  );
  // Kubernetes returns pointers here, and its `==` fails for a pointer on the right: pkg/cel/quantity.go, Equal.
  const result = (nanos: bigint): Quantity => new Quantity(nanos, false);
  define("add", "Quantity.(Quantity) Quantity", (a: Quantity, b: Quantity) => result(a.nanos + b.nanos));
  define("add", "Quantity.(int) Quantity", (a: Quantity, b: bigint) => result(a.nanos + b * NANOS));
  define("sub", "Quantity.(Quantity) Quantity", (a: Quantity, b: Quantity) => result(a.nanos - b.nanos));
  define("sub", "Quantity.(int) Quantity", (a: Quantity, b: bigint) => result(a.nanos - b * NANOS));
}

function parsed(text: string): Quantity | undefined {
  const quantity = tryParseQuantity(text);
  return quantity === undefined ? undefined : new Quantity(quantity.nanos);
}

function integerOf(nanos: bigint): Value {
  if (nanos % NANOS !== 0n) return new Failure("cannot convert value to integer");
  return int(nanos / NANOS);
}
