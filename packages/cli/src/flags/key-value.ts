import { usageError } from "../errors/cli-error.ts";

/** Splits `KEY=VALUE`; undefined for a text without a key. */
function splitKeyValue(text: string): readonly [key: string, value: string] | undefined {
  const at = text.indexOf("=");
  return at <= 0 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

/** Splits a value of an option. @throws CliError `Usage` for another form */
export function keyAndValue(option: string, text: string, form = "KEY=VALUE"): readonly [key: string, value: string] {
  const pair = splitKeyValue(text);
  if (pair === undefined) throw usageError(`${option} requires ${form}, not ${JSON.stringify(text)}`);
  return pair;
}
