// Empty starts and ends.
package main

func main() {}
