package match

import "strings"

// DidYouMean returns the known word that a misspelt one most likely stands for,
// or "" where none is close: at most one edit in three letters, where an edit
// adds, drops, changes or swaps letters; or one that begins with it. Case is not counted.
func DidYouMean(word string, known []string) string {
	if len(word) > maxName {
		return ""
	}
	best, bestDistance := "", 1+max(1, len([]rune(word))/3)
	for _, candidate := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	for _, candidate := range known {
		if best == "" && len(word) >= 3 && strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(word)) {
			best = candidate
		}
	}
	return best
}

// editDistance is the optimal string alignment distance, in runes.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	var before []int // the row before the last one, for swapped neighbours
	last := make([]int, len(to)+1)
	for j := range last {
		last[j] = j
	}
	for i := range from {
		row := make([]int, len(to)+1)
		row[0] = i + 1
		for j := range to {
			change := last[j]
			if from[i] != to[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(to)]
}

// suggestion is DidYouMean as a hint; otherwise says what to do without one.
func suggestion(word string, known []string, otherwise string) string {
	if guess := DidYouMean(word, known); guess != "" {
		return "did you mean " + quoted(guess) + "?"
	}
	return otherwise
}
