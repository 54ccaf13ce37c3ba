// The names of the values of enums in linchpin.proto, by their numbers. JSON omits the number 0.

export const causes = ["none", "lock", "range", "queue", "readers", "intent", "recovery", "wound", "changed", "snapshot"];
export const modes = ["", "auto", "pinned", "off"];
export const policies = ["", "pinned", "banned"];
export const rejections = ["", "writes", "all writes"];
