import type { Environment } from "@marcbachmann/cel-js";
import { tryParseQuantity } from "@xfn/units";
import { CelFunctionError } from "./failure.ts";

const NANOS = 1_000_000_000n;

/** A Kubernetes quantity in an expression. */
class CelQuantity {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** The quantity library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library */
export function registerQuantity(environment: Environment): void {
  environment.registerType("Quantity", CelQuantity);
  const on = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  on("isQuantity(string): bool", (text: string) => parsed(text) !== undefined);
  on("quantity(string): Quantity", (text: string) => {
    const quantity = parsed(text);
    if (quantity === undefined) throw new CelFunctionError("not a quantity");
    return quantity;
  });
  on("Quantity.sign(): int", ({ nanos }: CelQuantity) => (nanos > 0n ? 1n : nanos < 0n ? -1n : 0n));
  on("Quantity.isInteger(): bool", ({ nanos }: CelQuantity) => nanos % NANOS === 0n);
  on("Quantity.asInteger(): int", ({ nanos }: CelQuantity) => {
    if (nanos % NANOS !== 0n) throw new CelFunctionError("the quantity is no integer");
    return nanos / NANOS;
  });
  on("Quantity.asApproximateFloat(): double", ({ nanos }: CelQuantity) => Number(nanos) / Number(NANOS));
  on("Quantity.isGreaterThan(Quantity): bool", (a: CelQuantity, b: CelQuantity) => a.nanos > b.nanos);
  on("Quantity.isLessThan(Quantity): bool", (a: CelQuantity, b: CelQuantity) => a.nanos < b.nanos);
  on("Quantity.compareTo(Quantity): int", (a: CelQuantity, b: CelQuantity) =>
    a.nanos > b.nanos ? 1n : a.nanos < b.nanos ? -1n : 0n,
  );
  on("Quantity.add(Quantity): Quantity", (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nanos + b.nanos));
  on("Quantity.sub(Quantity): Quantity", (a: CelQuantity, b: CelQuantity) => new CelQuantity(a.nanos - b.nanos));
  on("Quantity.add(int): Quantity", (a: CelQuantity, b: bigint) => new CelQuantity(a.nanos + b * NANOS));
  on("Quantity.sub(int): Quantity", (a: CelQuantity, b: bigint) => new CelQuantity(a.nanos - b * NANOS));
  environment.registerOperator("Quantity == Quantity", (a: CelQuantity, b: CelQuantity) => a.nanos === b.nanos);
}

function parsed(text: string): CelQuantity | undefined {
  const quantity = tryParseQuantity(text);
  return quantity === undefined ? undefined : new CelQuantity(quantity.nanos);
}
