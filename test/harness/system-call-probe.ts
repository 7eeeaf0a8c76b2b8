/**
 * A system call to try: its number on x86_64 and aarch64, and its arguments. `"buffer"` is the address of 4 KiB of
 * zeros.
 */
export interface ProbedCall {
  numbers: readonly [x64: number, arm64: number];
  args: readonly (number | "buffer")[];
}

/**
 * Python code that makes each call and prints the outcome as JSON: `ok`, or the name of the error. A process that a
 * call creates exits at once.
 */
export function probeSystemCalls(calls: Readonly<Record<string, ProbedCall>>): string {
  const numbered = Object.entries(calls).map(([name, { numbers, args }]) => [
    name,
    numbers[process.arch === "arm64" ? 1 : 0],
    args,
  ]);
  return `
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
me = os.getpid()
def attempt(number, args):
    words = [ctypes.c_long(ctypes.addressof(buffer) if arg == "buffer" else arg) for arg in args]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *words)
    if os.getpid() != me: os._exit(0)
    return "ok" if result != -1 else errno.errorcode.get(ctypes.get_errno(), "?")
print(json.dumps({name: attempt(number, args) for name, number, args in json.loads(${JSON.stringify(JSON.stringify(numbered))})}))
`;
}
