import type { JsonObject } from "@xfn/json";
import { compareDocuments } from "./compare-documents.ts";
import { outputDocument } from "./make-recording.ts";
import type { RecordedStep } from "./recording.ts";
import { SecretBindings } from "./secret-bindings.ts";

/**
 * Runs a function with the recorded inputs of a FunctionIO step.
 *
 * @returns a line for each field of its output that differs from the recorded one
 */
export async function compareWithStep(
  { calls }: RecordedStep,
  run: (input: JsonObject) => Promise<Uint8Array>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const { input, output, error } of calls) {
    const returned = outputDocument(await run(input), input);
    if (output === undefined) lines.push(`recorded a failure (${error?.code}), now it returns an output`);
    else if (returned === undefined) lines.push("recorded an output, now it returns no document");
    else lines.push(...compareDocuments(output, returned, new SecretBindings()));
  }
  return lines;
}
