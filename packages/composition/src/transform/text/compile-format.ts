import { type GoValue, goKind } from "../../values/go-value.ts";
import { joined } from "./go-string.ts";
import { boundedText, MAX_TEXT_LENGTH, tooLong } from "./limits.ts";
import { BAD_PRECISION, BAD_WIDTH, type Directive, isSize, type Plan, parseFormat, type Size } from "./parse-format.ts";
import { Printer, typeName } from "./printer.ts";
import { PLAIN, type Style } from "./style.ts";
import { type Fail, failureOf } from "./transform-error.ts";

/**
 * Compiles a format for Go's `fmt.Sprintf`. The function returns exactly Go's text for its arguments, including Go's
 * reports of wrong formats (`%!d(string=x)`, `%!s(MISSING)`, `%!(EXTRA int64=1)`).
 *
 * The function throws a {@link TransformError}: `Limit` if the text would become too long, and `Config` for `%p` of an
 * object or a list, for which Go prints an address.
 *
 * @see https://pkg.go.dev/fmt
 */
export function compileFormat(
  format: string,
  fail: Fail = failureOf(undefined, "fmt"),
): (args: readonly GoValue[]) => string {
  const text = format.toWellFormed();
  let formatter: Formatter | undefined;
  return (args) => {
    if (formatter === undefined || formatter.argumentCount !== args.length)
      formatter = new Formatter(text, args.length, fail);
    return formatter.format(args);
  };
}

/** Prints a value with `%v`. */
export function printed(value: GoValue, fail: Fail): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value === 0 ? "0" : value.toString();
  const printer = new Printer(fail);
  printer.print(value, "v", PLAIN);
  return printer.text;
}

/** A single plain directive for strings (`s`, `v`) or small integers (`d`, `v`), between two texts. */
interface SimpleStep {
  before: string;
  argument: number;
  takesString: boolean;
  takesInteger: boolean;
}

class Formatter {
  readonly argumentCount: number;
  readonly #plan: Plan;
  readonly #fail: Fail;
  readonly #simple: readonly SimpleStep[] | undefined;
  readonly #last: string = "";

  constructor(format: string, argumentCount: number, fail: Fail) {
    this.argumentCount = argumentCount;
    this.#fail = fail;
    this.#plan = parseFormat(format, argumentCount);
    const simple = simpleSteps(this.#plan, argumentCount);
    this.#simple = simple?.steps;
    this.#last = simple?.last ?? "";
  }

  format(args: readonly GoValue[]): string {
    return (this.#simple === undefined ? undefined : this.#fast(this.#simple, args)) ?? this.#slow(args);
  }

  #fast(steps: readonly SimpleStep[], args: readonly GoValue[]): string | undefined {
    let out = "";
    for (const { before, argument, takesString, takesInteger } of steps) {
      const value = args[argument];
      if (typeof value === "string") {
        if (!takesString) return undefined;
        out += before + value;
      } else if (typeof value === "number" && takesInteger && Number.isSafeInteger(value)) {
        out += before + value.toString();
      } else return undefined;
      if (out.length > MAX_TEXT_LENGTH) tooLong(this.#fail);
    }
    out = boundedText(out + this.#last, this.#fail);
    // Only two adjacent arguments can together form a character.
    return steps.length > 1 ? joined(out) : out;
  }

  #slow(args: readonly GoValue[]): string {
    const printer = new Printer(this.#fail);
    for (const operation of this.#plan.operations) {
      if ("text" in operation) printer.write(operation.text);
      else if ("star" in operation) sizeOf({ argument: operation.star }, args, operation.complaint, printer);
      else printer.print(args[operation.argument] ?? null, operation.verb, styleOf(operation, args, printer));
    }
    const { extraFrom } = this.#plan;
    if (extraFrom < args.length) {
      printer.write("%!(EXTRA ");
      for (const [i, value] of args.slice(extraFrom).entries()) {
        if (i > 0) printer.write(", ");
        if (value !== null) printer.write(`${typeName(value)}=`);
        printer.print(value, "v", PLAIN);
      }
      printer.write(")");
    }
    return joined(printer.text);
  }
}

function simpleSteps(plan: Plan, argumentCount: number): { steps: SimpleStep[]; last: string } | undefined {
  if (plan.extraFrom < argumentCount) return undefined;
  const steps: SimpleStep[] = [];
  let before = "";
  for (const operation of plan.operations) {
    if ("text" in operation) {
      before += operation.text;
      continue;
    }
    if ("star" in operation || !isPlain(operation)) return undefined;
    const { verb, argument } = operation;
    if (verb !== "s" && verb !== "v" && verb !== "d") return undefined;
    steps.push({ before, argument, takesString: verb !== "d", takesInteger: verb !== "s" });
    before = "";
  }
  return { steps, last: before };
}

function isPlain({ flags, width, precision }: Directive): boolean {
  return width === undefined && precision === undefined && !Object.values(flags).includes(true);
}

function styleOf({ flags, width, precision }: Directive, args: readonly GoValue[], printer: Printer): Style {
  const style: Style = { ...flags, width: undefined, precision: undefined };
  style.width = sizeOf(width, args, BAD_WIDTH, printer);
  if (style.width !== undefined && style.width < 0) {
    style.width = -style.width;
    style.minus = true;
  }
  style.precision = sizeOf(precision, args, BAD_PRECISION, printer);
  return style;
}

/** The value of a size. Prints Go's report if an argument is not a usable integer. */
function sizeOf(size: Size, args: readonly GoValue[], complaint: string, printer: Printer): number | undefined {
  if (typeof size !== "object") return size;
  const value = args[size.argument];
  const isNumber = typeof value === "number" && goKind(value) === "int64" && isSize(value);
  if (isNumber && (value >= 0 || complaint === BAD_WIDTH)) return value;
  printer.write(complaint);
  return undefined;
}
