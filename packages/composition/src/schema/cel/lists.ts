import type { Environment } from "@marcbachmann/cel-js";
import { isNumber, sameNumber } from "../structural/numbers.ts";
import { CelFunctionError } from "./failure.ts";

type Comparable = bigint | number | string | boolean | Date;

/** The list library: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library */
export function registerLists(environment: Environment): void {
  const on = (signature: string, handler: (...args: never[]) => unknown): void =>
    void environment.registerFunction(signature, handler);
  on("list.isSorted(): bool", (list: Comparable[]) =>
    list.every((item, index) => index === 0 || !(item < (list[index - 1] as Comparable))),
  );
  on("list.sum(): dyn", (list: (bigint | number)[]) => sum(list));
  on("list.min(): dyn", (list: Comparable[]) => extreme(list, (a, b) => a < b));
  on("list.max(): dyn", (list: Comparable[]) => extreme(list, (a, b) => a > b));
  on("list.indexOf(dyn): int", (list: unknown[], item: unknown) => BigInt(list.findIndex((one) => same(one, item))));
  on("list.lastIndexOf(dyn): int", (list: unknown[], item: unknown) =>
    BigInt(list.findLastIndex((one) => same(one, item))),
  );
}

function sum(list: (bigint | number)[]): bigint | number {
  let total: bigint | number = 0n;
  for (const [index, item] of list.entries()) {
    if (typeof item === "bigint" && typeof total === "bigint") {
      total += item;
      if (BigInt.asIntN(64, total) !== total) throw new CelFunctionError("integer overflow");
    } else if (typeof item === "number" && (index === 0 || typeof total === "number")) total = Number(total) + item;
    else throw new CelFunctionError("sum takes a list of numbers of one type");
  }
  return total;
}

function extreme(list: Comparable[], better: (a: Comparable, b: Comparable) => boolean): Comparable {
  const [first, ...rest] = list;
  if (first === undefined) throw new CelFunctionError("an empty list has no minimum and no maximum");
  return rest.reduce((best, item) => (better(item, best) ? item : best), first);
}

/** Compares scalars by value. The language has `in` and `==` for other values. */
function same(a: unknown, b: unknown): boolean {
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  return isNumber(a) && isNumber(b) ? sameNumber(a, b) : a === b;
}
