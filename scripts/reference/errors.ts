import { type Code, codesOf } from "./codes.ts";
import { table } from "./table.ts";

const CALLS = "runner-contract/src/error-codes.ts";
const RECORDINGS = "pipeline/src/recording/recording-error.ts";

/** The codes of failed calls and of recordings. */
export function errorsPage(): string {
  return `# Errors

## Calls

The codes with which a call of a function fails: in messages of \`xfn\`, in the condition \`RunFailed\` of an XR, and in the metrics and logs of a runner.
Over gRPC they are details of a status: [runner-grpc](../../packages/runner-grpc/README.md#errors) lists the statuses. *Again* marks those for which the
same call can succeed later.

${table(["code", "again", "meaning, and what to do"], [...codesOf(CALLS, "RUN_ERRORS"), ...codesOf(CALLS, "SERVICE_ERRORS")].map(row))}

## Recordings

The codes of a \`RecordingError\` ([recordings](../tasks/recordings.md)):

${codesOf(RECORDINGS, "RecordingErrorCode")
  .map(({ code, text }) => `- \`${code}\`: ${text}\n`)
  .join("")}`;
}

function row({ code, text, value }: Code): string[] {
  return [`\`${code}\``, value === "true" ? "yes" : "", text];
}
