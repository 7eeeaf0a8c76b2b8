import { writeFileSync } from "node:fs";
import { messageOf } from "@xfn/errors";
import { asInputError, readInput, STDIN, sourceName } from "@xfn/input";
import { DocumentError } from "@xfn/json";
import { ExitCode } from "@xfn/program/exit-code";
import { CliError, usageError } from "../errors/cli-error.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { type Conversion, convertText } from "./convert-text.ts";

/** Flags of all conversions. */
export interface ConvertFlags {
  /** The file to write. Absent: stdout. */
  readonly outputFile?: string;
  /** Whether to remove what the other form cannot express. */
  readonly drop?: boolean;
}

/**
 * `xfn convert`: converts the documents of a file, and prints the whole file. Prints nothing if something of it has no
 * other form.
 *
 * @throws CliError `Failed` with all that cannot be converted
 * @throws InputError
 */
export async function runConvert(
  file: string | undefined,
  conversion: Conversion,
  { outputFile, drop = false }: ConvertFlags,
  output: Output,
): Promise<number> {
  const path = file ?? STDIN;
  const name = sourceName(path);
  const bytes = await readInput(path);
  const { text, converted, problems } = asInputError(
    path,
    () => convertText(new TextDecoder().decode(bytes), name, conversion),
    (error) => error instanceof DocumentError,
  );
  if (converted === 0) {
    const kind = conversion.to === "xrd-v2" ? "CompositeResourceDefinition" : "Composition";
    throw usageError(`${name} has no document of kind ${kind}`);
  }
  const fatal = problems.filter(({ severity }) => severity === undefined || (severity === "loss" && !drop));
  if (fatal.length > 0) {
    const canDrop = fatal.every(({ severity }) => severity === "loss");
    throw new CliError("Failed", `${name} cannot be converted`, {
      details: [...fatal.map(({ line }) => line), ...(canDrop ? ["--drop removes these fields"] : [])],
    });
  }
  for (const { line, severity } of problems) output.note(warning(severity === "loss" ? `${line} (dropped)` : line));
  if (outputFile === undefined) await output.product(text);
  else {
    try {
      writeFileSync(outputFile, text);
    } catch (error) {
      throw new CliError("Failed", `cannot write ${outputFile}: ${messageOf(error)}`, { cause: error });
    }
  }
  return ExitCode.ok;
}
