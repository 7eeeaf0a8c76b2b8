import { type Code, codesOf } from "./codes.ts";
import { table } from "./table.ts";

/** The codes of failed calls. */
export function errorsPage(): string {
  const file = "runner-contract/src/error-codes.ts";
  const codes = [...codesOf(file, "RUN_ERRORS"), ...codesOf(file, "SERVICE_ERRORS")];
  return `# Errors of calls

The codes with which a call of a function fails: in messages of \`xfn\`, in the condition \`RunFailed\` of an XR, and in the metrics and logs of a runner.
Over gRPC they are details of a status: [runner-grpc](../../packages/runner-grpc/README.md#errors) lists the statuses. *Again* marks those for which the
same call can succeed later.

${table(["code", "again", "meaning, and what to do"], codes.map(row))}
`;
}

function row({ code, text, value }: Code): string[] {
  return [`\`${code}\``, value === "true" ? "yes" : "", text];
}
