/**
 * Variables of kubectl: without garbage collection and with one thread, a command takes a third less processor time.
 */
export const SHORT_LIVED: Readonly<Record<string, string>> = { GOGC: "off", GOMAXPROCS: "1" };
